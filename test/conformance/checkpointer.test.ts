import { Effect, Layer } from "effect"
import { layerMemory } from "superstep/Checkpointer"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"
import { layerPostgres } from "../Postgres.ts"
import { filename } from "../sql/files.ts"
import { checkpointerSuite } from "./CheckpointerSuite.ts"

checkpointerSuite("memory", layerMemory)
checkpointerSuite("SQLite in memory", layerSqlite({ filename: ":memory:" }))
checkpointerSuite("SQLite file", Layer.unwrap(Effect.map(filename, (filename) => layerSqlite({ filename }))))
checkpointerSuite("Postgres", layerPostgres)
