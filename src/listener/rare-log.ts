import type { Logger } from '../telemetry/log.ts'

/** What is known of the lines with one reason. */
interface Turn {
  at: number
  leftOut: number
}

/**
 * Warns at most once per reason and interval: an app that is down must not turn every request into
 * a line. Reasons come from a fixed list, so that their number needs no bound of its own.
 */
export class RareLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #interval: number
  readonly #turns = new Map<string, Turn>()

  /** `interval` is in the unit of `now`. */
  constructor(logger: Logger, now: () => number, interval = 1_000) {
    this.#logger = logger
    this.#now = now
    this.#interval = interval
  }

  /** Writes the line, with the number left out since the last one, or counts it as left out. */
  warn(reason: string, detail: string, message: string): void {
    const now = this.#now()
    const turn = this.#turns.get(reason)
    if (turn === undefined) {
      this.#turns.set(reason, { at: now, leftOut: 0 })
      this.#logger.warn({ reason, detail }, message)
      return
    }
    if (now - turn.at < this.#interval) {
      turn.leftOut++
      return
    }
    const { leftOut } = turn
    turn.at = now
    turn.leftOut = 0
    this.#logger.warn(leftOut === 0 ? { reason, detail } : { reason, detail, leftOut }, message)
  }
}
