import type { Echo } from './echo.ts'
import type { Turns } from './turns.ts'

/**
 * A turn passes all that is on its way by one hop; the longest way of anything has fewer than
 * these.
 */
const QUIET_TURNS = 10
/** As for turns: what the kernel is late with comes before so many echoes. */
const QUIET_ROUNDS = 6
const QUIET_MS = 4
/** For scripts in which something waits, or is decoded in another thread. */
const SLOW_QUIET_MS = 40

/** When something last happened on one stage. */
export class Activity {
  readonly #turns: Turns
  readonly #echo: Echo
  #turn = 0
  #round = 0
  #at = 0
  #quietMs = QUIET_MS

  constructor(turns: Turns, echo: Echo) {
    this.#turns = turns
    this.#echo = echo
  }

  begin(slow: boolean): void {
    this.#quietMs = slow ? SLOW_QUIET_MS : QUIET_MS
    this.touch()
  }

  touch(): void {
    this.#turn = this.#turns.count
    this.#round = this.#echo.rounds
    this.#at = performance.now()
  }

  /** True when nothing has happened for so long that nothing will. */
  get quiet(): boolean {
    return (
      this.#turns.count - this.#turn >= QUIET_TURNS &&
      this.#echo.rounds - this.#round >= QUIET_ROUNDS &&
      performance.now() - this.#at >= this.#quietMs
    )
  }
}
