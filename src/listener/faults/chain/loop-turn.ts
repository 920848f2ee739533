import { HEAVY, heavyWork } from '../../heavy-work.ts'

/** As many pieces of a response are worked on at a time, before all other calls have a turn. */
export const SLICE = 64

/**
 * Resolves when the event loop has been around. Of all that wait for it, one goes on in each turn, so
 * that other calls wait for one slice of work, however many responses are worked on.
 */
export function loopTurn(): Promise<void> {
  return new Promise((resolve) => heavyWork.do(HEAVY, resolve))
}
