import type { ForeignMark } from '../http/foreign-markers.ts'
import type { RareLog } from './rare-log.ts'

const DETAIL = 'responses carry markers of another Squall; use --trust-markers to trust them'

/** Believes markers of the upstream on request: any server could hide its errors behind one. */
export class TrustedMarkers {
  /** Says whether markers are believed; undefined before the first one. */
  seen: 'trusted' | 'ignored' | undefined
  readonly #trusted: boolean
  readonly #log: RareLog | undefined

  constructor(trusted: boolean, log?: RareLog) {
    this.#trusted = trusted
    this.#log = log
  }

  /** Returns a mark that is believed, or else 0. */
  believed(mark: ForeignMark): ForeignMark {
    if (mark === 0 || this.#trusted) {
      if (mark > 0) this.seen = 'trusted'
      return mark
    }
    if (this.seen === undefined) {
      this.#log?.warn('foreign_markers', DETAIL, 'errors of the upstream count as real')
    }
    this.seen = 'ignored'
    return 0
  }
}
