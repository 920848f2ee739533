import type { Logger } from '../telemetry/log.ts'

const MAX_REASONS = 32

/**
 * Logs at most one warning per reason and interval, because an upstream that is down, or a client
 * that guesses tokens, would otherwise cause a line for each request. Further reasons share one
 * line.
 */
export class RareLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #interval: number
  readonly #last = new Map<string, { at: number; leftOut: number }>()

  /** `interval` is in the unit of `now`. */
  constructor(logger: Logger, now: () => number, interval = 1_000) {
    this.#logger = logger
    this.#now = now
    this.#interval = interval
  }

  /** Logs a failure by its reason. */
  warn(reason: string, detail: string, message: string): void {
    this.write(reason, { reason, detail }, message)
  }

  /** Writes a line with the number of lines left out before, or counts the line as left out. */
  write(reason: string, fields: object, message: string): void {
    const now = this.#now()
    const key = this.#last.has(reason) || this.#last.size < MAX_REASONS ? reason : ''
    const last = this.#last.get(key)
    if (last !== undefined && now - last.at < this.#interval) {
      last.leftOut++
      return
    }
    this.#last.set(key, { at: now, leftOut: 0 })
    const leftOut = last?.leftOut ?? 0
    this.#logger.warn(leftOut === 0 ? fields : { ...fields, leftOut }, message)
  }
}
