import { Effect, Layer } from "effect"
import { layerMemory } from "superstep/Checkpointer"
import { layerSqlite } from "superstep/sql/SqlCheckpointer"
import { encrypted } from "../crypto/keys.ts"
import { layerPostgres } from "../Postgres.ts"
import { faultySqlite } from "../sql/Faulty.ts"
import { filename } from "../sql/files.ts"
import { checkpointerSuite } from "./CheckpointerSuite.ts"

const layerFile = Layer.unwrap(Effect.map(filename, (filename) => layerSqlite({ filename })))

checkpointerSuite("memory", layerMemory)
checkpointerSuite("SQLite in memory", layerSqlite({ filename: ":memory:" }))
checkpointerSuite("SQLite file", layerFile, { faulty: faultySqlite })
checkpointerSuite("Postgres", layerPostgres)
checkpointerSuite("memory, encrypted", encrypted(layerMemory))
checkpointerSuite("SQLite file, encrypted", encrypted(layerFile))
checkpointerSuite("Postgres, encrypted", encrypted(layerPostgres))
