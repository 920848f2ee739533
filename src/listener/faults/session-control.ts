import { digest } from '../../base/digest.ts'
import { LruMap } from '../../base/lru-map.ts'
import { readValue } from '../../base/text/written-values.ts'
import type { FalseValues } from '../falsified/false-values.ts'
import { WatchedValues } from '../falsified/watched-values.ts'
import type { FaultHost, ServerHandle } from '../../filters/fault.ts'
import { type Call, toolOf } from '../../mcp/call.ts'
import type { OtherMessage, PostedMessages } from '../../mcp/classify.ts'
import type { Endpoints } from '../../mcp/endpoints.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import type { ExchangeControl, FaultOrigin } from './exchange-context.ts'
import type { OpenCall } from '../side-faults.ts'
import type { PushStreams } from './source/push-streams.ts'

/** Older canaries are forgotten when there are twice as many. */
const MAX_CANARIES = 100

/** Words that faults put into results, to find the messages that repeat them. */
export class Canaries {
  readonly #kept = new Set<string>()
  #words = new WatchedValues<true>()

  /** True when there is a word to look for. */
  get isWatching(): boolean {
    return this.#kept.size > 0
  }

  add(word: string): void {
    this.#kept.add(word)
    this.#words.addText(word, true)
    if (this.#kept.size < 2 * MAX_CANARIES) return
    // The values share the hashes of their first words, so that none can be taken out alone.
    this.#words = new WatchedValues()
    for (const each of [...this.#kept].slice(0, -MAX_CANARIES)) this.#kept.delete(each)
    for (const each of this.#kept) this.#words.addText(each, true)
  }

  /** Returns the messages of a decoded request body that contain a canary. */
  in(body: Uint8Array, { calls, others }: PostedMessages): readonly Call[] {
    const has = (value: unknown): boolean => {
      readValue(value, this.#words)
      return this.#words.take() !== undefined
    }
    const found: Call[] = [...calls, ...others].filter(({ params }) => has(params))
    const responses = others.filter(({ kind }) => kind === 'response')
    if (responses.length === 0) return found
    // Results of the client are not kept. The other messages know how many calls precede them.
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
    const elements = [JSON.parse(text.replace(/^\ufeff/, '')) as unknown].flat()
    const isIn = (each: OtherMessage) => has(elements[each.callsBefore + others.indexOf(each)])
    return [...found, ...responses.filter(isIn)]
  }
}

/** Finds in later messages what faults put into results. */
export interface WatchedResults {
  /** Shared by all listeners: an agent may send to one what it read from another. */
  readonly canaries: Canaries
  readonly falseValues: FalseValues
}

/** Keeps a listener from serving new connections. */
export interface NewConnections {
  /** Resets new connections while `isDown` returns true. */
  resetWhile(isDown: () => boolean): void
  /** Returns what closes the listener for a time; undefined where no TCP port is open. */
  closePort(): ((ms: number, retired: AbortSignal) => void) | undefined
}

/** The parts of the listener on which faults act beyond their exchange. */
export interface SessionEffects {
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly push: PushStreams
  readonly newConnections: NewConnections
  /** The process of the upstream; undefined where Squall does not run it. */
  readonly server?: ServerHandle | undefined
}

/** Offers faults effects beyond their exchange. */
export class SessionControl implements ExchangeControl {
  /**
   * The sessions that a fault has ended, by digest: the upstream still knows them, but their
   * requests are rejected while the rule stays active. Clients choose the ids, which may be long.
   */
  readonly #expired: LruMap<FaultOrigin>
  readonly #watched: WatchedResults
  readonly #context: SessionEffects
  /** The times until which rules reset new connections, by the signals of their retirement. */
  readonly #resetting = new Map<AbortSignal, number>()

  constructor(maxSessions: number, watched: WatchedResults, context: SessionEffects) {
    this.#expired = new LruMap(maxSessions)
    this.#watched = watched
    this.#context = context
  }

  /** Returns the fault that ended a session, if any. */
  expiredBy(session: string): FaultOrigin | undefined {
    if (session === '' || this.#expired.size === 0) return undefined
    const key = digest(session)
    const by = this.#expired.get(key)
    if (by?.retired.aborted !== true) return by
    this.#expired.delete(key)
    return undefined
  }

  expireSession(session: string | undefined, by: FaultOrigin): void {
    const { endpoints, push } = this.#context
    if (session === undefined) return
    const isEndpoint = endpoints.lookup(session) === session
    this.#expired.set(digest(session), by)
    push.end(session, 'fin')
    // The endpoint ended with its stream; later POSTs to it belong to the ended session.
    if (isEndpoint) endpoints.announce('/', session)
  }

  hasSessionEnded(session = ''): boolean {
    return this.expiredBy(session) !== undefined || this.#context.sessions.hasEnded(session)
  }

  hostFor(
    { ref, marked, retired }: FaultOrigin,
    entry: OpenCall | undefined,
    endsIn: () => number,
  ): FaultHost {
    const { newConnections, server } = this.#context
    const close = newConnections.closePort()
    return {
      refuseConnections: (ms) => {
        const until = Math.max(this.#resetting.get(retired) ?? 0, performance.now() + ms)
        this.#resetting.set(retired, until)
        newConnections.resetWhile(() => this.#isRefusing())
      },
      closePort: close && ((ms) => close(Math.min(ms, endsIn()), retired)),
      watchFor: (word) => this.#watched.canaries.add(word),
      falsified: (values, onUse) => {
        if (entry === undefined) return false
        const { rule, fault } = ref
        const by = { rule, fault, marked, tool: toolOf(entry.call) ?? '' }
        return this.#watched.falseValues.falsified(entry, by, values, onUse)
      },
      server,
    }
  }

  /** Returns true while a rule resets new connections; forgets those that no longer do. */
  #isRefusing(): boolean {
    for (const [retired, until] of this.#resetting)
      if (retired.aborted || performance.now() >= until) this.#resetting.delete(retired)
    return this.#resetting.size > 0
  }
}
