/** Which graph an event is of. A graph that is called is known to nobody but the run: events bring it along, for those who write them as JSON. */
import type * as Event from "../../Event.ts"
import type { Program } from "../engine/program.ts"

const programs = new WeakMap<Event.Any, Program>()

/** An event of a graph. */
export const eventOf = <E extends Event.Any>(program: Program, event: E): E => {
  programs.set(event, program)
  return event
}

/** The graph of an event; none of one that somebody else made. */
export const programOf = (event: Event.Any): Program | undefined => programs.get(event)
