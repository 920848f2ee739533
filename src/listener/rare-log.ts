import type { Logger } from '../telemetry/log.ts'

interface LastLine {
  at: number
  leftOut: number
}

/**
 * Logs at most one warning per reason and interval, because an app that is down would otherwise cause a line
 * for each request. Reasons come from a fixed list, so their number is bounded.
 */
export class RareLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #interval: number
  readonly #last = new Map<string, LastLine>()

  /** `interval` is in the unit of `now`. */
  constructor(logger: Logger, now: () => number, interval = 1_000) {
    this.#logger = logger
    this.#now = now
    this.#interval = interval
  }

  /** Writes a line with the number of lines left out before, or counts the line as left out. */
  warn(reason: string, detail: string, message: string): void {
    const now = this.#now()
    const last = this.#last.get(reason)
    if (last === undefined) {
      this.#last.set(reason, { at: now, leftOut: 0 })
      this.#logger.warn({ reason, detail }, message)
      return
    }
    if (now - last.at < this.#interval) {
      last.leftOut++
      return
    }
    const { leftOut } = last
    last.at = now
    last.leftOut = 0
    this.#logger.warn(leftOut === 0 ? { reason, detail } : { reason, detail, leftOut }, message)
  }
}
