/** Keys that users give: to starts, to questions, to calls of graphs. */

/** The longest key of a call of a graph inside a node, in UTF-16 code units. */
export const maxKeyLength = 512

/** Whether a value can be a key. */
export const isKey = (u: unknown): u is string => typeof u === "string" && u.length > 0 && u.length <= maxKeyLength

export const keyShape = `a text of 1 to ${maxKeyLength} characters`
