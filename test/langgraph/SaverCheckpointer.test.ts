/** Threads in savers of LangGraph.js. */
import { Effect, Layer, type Scope } from "effect"
import type { Checkpointer } from "superstep/Checkpointer"
import type { CheckpointError } from "superstep/GraphError"
import { layer } from "superstep/langgraph/SaverCheckpointer"
import { checkpointerSuite } from "../conformance/CheckpointerSuite.ts"
import { memorySaver, postgresSaver, sqliteSaverOnFile } from "./Savers.ts"

type Saver = Parameters<typeof layer>[0]

const layerOf = (saver: Effect.Effect<Saver, never, Scope.Scope>): Layer.Layer<Checkpointer, CheckpointError> =>
  Layer.unwrap(Effect.map(saver, layer))

checkpointerSuite("MemorySaver of LangGraph.js", layerOf(memorySaver))
checkpointerSuite("SqliteSaver of LangGraph.js", layerOf(sqliteSaverOnFile))
checkpointerSuite("PostgresSaver of LangGraph.js", layerOf(postgresSaver))
