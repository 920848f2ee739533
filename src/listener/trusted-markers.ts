import { type ForeignMark, bothMarks } from '../http/foreign-markers.ts'
import type { ResponseHead } from '../http/headers.ts'
import { responseFactsOf } from '../http/response-facts.ts'
import type { Origin } from '../mcp/call.ts'
import type { CallEntry } from './call-entry.ts'
import type { RareLog } from './rare-log.ts'

/**
 * Believes the markers of another Squall in front of the upstream, if `--trust-markers` is set: any
 * server could hide its errors behind a marker.
 */
export class TrustedMarkers {
  readonly #trusted: boolean
  readonly #log: RareLog | undefined
  #isSeen = false

  constructor(trusted: boolean, log?: RareLog) {
    this.#trusted = trusted
    this.#log = log
  }

  /** Returns what is done with the markers of the upstream; undefined before there was one. */
  get seen(): 'trusted' | 'ignored' | undefined {
    if (!this.#isSeen) return undefined
    return this.#trusted ? 'trusted' : 'ignored'
  }

  /** Marks calls whose response carries markers. */
  mark(entries: readonly CallEntry[], mark: ForeignMark): void {
    if (!this.#believes()) return
    for (const entry of entries) entry.mark = bothMarks(entry.mark, mark)
  }

  /** Returns the origin of an error status without calls that no fault of this Squall caused. */
  originOf(head: ResponseHead): Origin {
    const { mark } = responseFactsOf(head)
    if (mark === undefined || !this.#believes()) return 'real'
    return mark === 'fault' ? 'injected_elsewhere' : 'real'
  }

  #believes(): boolean {
    if (!this.#isSeen) {
      this.#isSeen = true
      if (!this.#trusted) {
        const detail =
          'the responses carry markers of another Squall; --trust-markers believes them'
        this.#log?.warn('foreign_markers', detail, 'errors of the upstream count as real')
      }
    }
    return this.#trusted
  }
}
