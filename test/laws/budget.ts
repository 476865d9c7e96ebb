/** How many cases a property tries: few by default, more when `SUPERSTEP_RUNS` says how many times as many. */
const factor = Math.max(1, Number(process.env["SUPERSTEP_RUNS"] ?? "1") || 1)

export const runs = (count: number): { readonly arbitrary: { readonly runs: number }; readonly timeout: number } => ({
  arbitrary: { runs: count * factor },
  timeout: 20_000 * factor
})
