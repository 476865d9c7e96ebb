/** A list that grows at its end, at the cost of what is added: whoever holds it as it was still sees it so. */
export interface Growing<out A> {
  readonly length: number
  /** Shared with those that grew from it. */
  readonly shared: ReadonlyArray<A>
}

export const growing = <A>(items: ReadonlyArray<A>): Growing<A> => ({ length: items.length, shared: [...items] })

/** The list with more at its end. Where it has grown before, it is copied first. */
export const grown = <A>(list: Growing<A>, more: ReadonlyArray<A>): Growing<A> => {
  if (more.length === 0) return list
  const shared = (list.shared.length === list.length ? list.shared : itemsOf(list)) as Array<A>
  for (const item of more) shared.push(item)
  return { length: shared.length, shared }
}

export const itemsOf = <A>({ length, shared }: Growing<A>): ReadonlyArray<A> => shared.slice(0, length)
