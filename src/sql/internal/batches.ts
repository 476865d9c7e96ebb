/** Statements about many rows at once: few texts, so that all stay prepared. SQLite takes 32,766 parameters. */

/** Rows per statement, largest first. */
export const rowCounts: ReadonlyArray<number> = [256, 64, 16, 4, 1]

/** The rows in batches for which there is a statement. */
export const batchesOf = <A>(rows: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  if (rows.length === 1) return [rows]
  const batches: Array<ReadonlyArray<A>> = []
  let at = 0
  for (const count of rowCounts) {
    for (; rows.length - at >= count; at += count) batches.push(rows.slice(at, at + count))
  }
  return batches
}

/** As many times what stands for one row in a list. */
export const times = (row: string, count: number): string => new Array<string>(count).fill(row).join(", ")
