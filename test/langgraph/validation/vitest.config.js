import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["superstep-src"] },
  ssr: { resolve: { conditions: ["superstep-src"] } },
  test: { include: ["*.spec.js"], globals: true, server: { deps: { inline: [/langgraph-checkpoint-validation/] } } }
})
