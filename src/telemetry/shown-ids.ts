import { hash } from 'node:crypto'
import { LruMap } from '../base/lru-map.ts'
import { foreign } from '../base/text/foreign-text.ts'
import { isSampled, traceId } from '../http/traceparent.ts'
import type { JsonRpcId } from '../mcp/call.ts'
import type { LogIds } from './log.ts'

const MAX_ID = 64
const HASH_DIGITS = 8
/** Sessions whose hashes are remembered, and the length of the longest. */
const MAX_SESSIONS = 1000
const MAX_SESSION = 256

/** The key of a task, and what it comes from. */
export interface ShownTask {
  readonly kind: string
  readonly key: string
}

/** Shows ids of calls, sessions and tasks. Clients may put secrets or names of people into ids. */
export class ShownIds {
  readonly #ids: LogIds
  readonly #traceUrl: string | undefined
  readonly #sessions = new LruMap<string>(MAX_SESSIONS)

  /** `traceUrl` is the page of a trace, with `{trace}` for its id. */
  constructor(ids: LogIds = 'full', traceUrl?: string) {
    this.#ids = ids
    this.#traceUrl = traceUrl
  }

  /** Returns the id of a trace, and its page where the trace is sampled. */
  trace(trace: string | undefined): Record<'trace' | 'traceUrl', string | undefined> {
    const id = trace && traceId(trace)
    const traceUrl = id && isSampled(trace) ? this.#traceUrl?.replaceAll('{trace}', id) : undefined
    return { trace: id, traceUrl }
  }

  /** Returns the id of a call: shortened, as the start of a hash, or not at all. */
  id(id: JsonRpcId | undefined): JsonRpcId | undefined {
    if (id === undefined || this.#ids === 'off') return undefined
    if (this.#ids === 'hash') return hashed(String(id))
    return typeof id === 'string' ? cutText(id, MAX_ID) : id
  }

  /** Returns the key of a task: as an id of a call where clients choose it, else as a hash. */
  task({ kind, key }: ShownTask): string {
    if (kind === 'trace') return key
    const id = kind === 'header' || kind === 'meta' ? this.id(key) : undefined
    return foreign(String(id ?? this.session(key)), MAX_ID)
  }

  /**
   * Returns the start of a hash, which distinguishes sessions and reveals none; undefined without a
   * session.
   */
  session(session: string | undefined): string | undefined {
    if (session === undefined || session === '') return undefined
    if (session.length > MAX_SESSION) return hashed(session)
    // Most calls are of a session that was seen before.
    const known = this.#sessions.get(session)
    if (known !== undefined) return known
    const made = hashed(session)
    this.#sessions.set(session, made)
    return made
  }
}

function hashed(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HASH_DIGITS)
}

/** Shortens a text to whole characters; the copy does not keep a long parent string alive. */
export function cutText(text: string, most: number): string {
  if (text.length <= most && text.isWellFormed()) return text
  return Buffer.from(text.slice(0, most), 'utf8').toString('utf8')
}
