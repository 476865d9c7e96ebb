/** Where one thing may be given, or a list of them, or nothing. */
export const listOf = <A>(given: A | ReadonlyArray<A> | undefined): ReadonlyArray<A> =>
  given === undefined ? [] : Array.isArray(given) ? given as ReadonlyArray<A> : [given as A]
