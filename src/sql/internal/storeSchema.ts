/**
 * The tables of a store.
 */
import type { Dialect } from "./dialect.ts"
import type { Plan } from "./migrating.ts"

/** SQLite: an index of words beside the table, which triggers keep. The words themselves are in the table. */
const sqliteWords: ReadonlyArray<string> = [
  `CREATE VIRTUAL TABLE superstep_store_words
    USING fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii')`,
  `CREATE TRIGGER superstep_store_words_insert AFTER INSERT ON superstep_store_items WHEN new.words <> '' BEGIN
    INSERT INTO superstep_store_words (rowid, words) VALUES (new.sequence, new.words);
  END`,
  `CREATE TRIGGER superstep_store_words_update AFTER UPDATE OF words ON superstep_store_items BEGIN
    DELETE FROM superstep_store_words WHERE rowid = old.sequence;
    INSERT INTO superstep_store_words (rowid, words) SELECT new.sequence, new.words WHERE new.words <> '';
  END`,
  `CREATE TRIGGER superstep_store_words_delete AFTER DELETE ON superstep_store_items BEGIN
    DELETE FROM superstep_store_words WHERE rowid = old.sequence;
  END`
]

const pgWords: ReadonlyArray<string> = [
  "CREATE INDEX superstep_store_words ON superstep_store_items USING GIN (string_to_array(words, ' '))"
]

const itemTables = (dialect: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE superstep_store_items (
    sequence ${dialect.key},
    created_millis ${dialect.integer} NOT NULL,
    updated_millis ${dialect.integer} NOT NULL,
    ttl_millis ${dialect.integer},
    expires_millis ${dialect.integer},
    namespace ${dialect.ordered} NOT NULL,
    key ${dialect.ordered} NOT NULL,
    value TEXT NOT NULL,
    words TEXT NOT NULL,
    vectors ${dialect.bytes},
    UNIQUE (namespace, key)
  )${dialect.table}`,
  `CREATE INDEX superstep_store_items_expires ON superstep_store_items (expires_millis)
    WHERE expires_millis IS NOT NULL`,
  ...dialect.hasFts5 ? sqliteWords : pgWords
]

/** Whether a row has its unit vectors too, which only some databases can keep. */
const unitColumns = ({ hasExtensions }: Dialect): ReadonlyArray<string> =>
  hasExtensions
    ? [
      "ALTER TABLE superstep_store_items ADD COLUMN has_units BOOLEAN NOT NULL DEFAULT FALSE",
      `CREATE INDEX superstep_store_items_unfilled ON superstep_store_items (sequence)
        WHERE vectors IS NOT NULL AND NOT has_units`
    ]
    : []

export const storePlan: Plan = {
  table: "superstep_store_migrations",
  migrations: { "0001_items": itemTables, "0002_units": unitColumns },
  probes: [
    "SELECT sequence, created_millis, updated_millis, ttl_millis, expires_millis, namespace, key, value, words, vectors " +
    "FROM superstep_store_items WHERE 1 = 0"
  ]
}
