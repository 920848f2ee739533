import type { Logger } from '../telemetry/log.ts'

/** A request that was refused. */
export interface RefusedRequest {
  readonly kind: 'change' | 'read'
  /** The path, without a query. */
  readonly what: string
  readonly from: string | undefined
  /** One of a fixed list of texts: nothing that was sent. */
  readonly why: string
}

interface Turn {
  at: number
  leftOut: number
}

const INTERVAL_MS = 5_000
const MAX_REASONS = 32

/**
 * Warns of refused requests, at most once per reason and interval: who guesses tokens must be seen,
 * and must not fill the log.
 */
export class RejectionLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #turns = new Map<string, Turn>()

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger
    this.#now = now
  }

  /** Writes a line, with the number of those left out since the last one, or leaves it out. */
  add({ kind, what, from, why }: RefusedRequest): void {
    const now = this.#now()
    // Reasons are few; should they ever not be, the rest shares one turn.
    const key = this.#turns.has(why) || this.#turns.size < MAX_REASONS ? why : ''
    const turn = this.#turns.get(key)
    if (turn !== undefined && now - turn.at < INTERVAL_MS) {
      turn.leftOut++
      return
    }
    const leftOut = turn === undefined || turn.leftOut === 0 ? {} : { leftOut: turn.leftOut }
    this.#turns.set(key, { at: now, leftOut: 0 })
    this.#logger.warn({ what, from, why, ...leftOut }, `refused a ${kind} on the admin port`)
  }
}
