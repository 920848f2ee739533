import { digest } from '../../base/digest.ts'
import { LruMap } from '../../base/lru-map.ts'
import type { JsonRpcId } from '../../mcp/call.ts'
import { parseMessages } from '../../mcp/json-rpc.ts'
import type { Logger } from '../../telemetry/log.ts'
import { isBlank, type LinePart, mayBeMessage } from './lines.ts'

/** The way in which a line of the server violates the protocol. */
export type Violation = 'not_json' | 'not_json_rpc' | 'no_line_feed' | 'unknown_id'

/** Finds lines of the server that violate the protocol, and counts and logs them. */
export class ServerCheck {
  readonly counts: Record<Violation, number> = {
    not_json: 0,
    not_json_rpc: 0,
    no_line_feed: 0,
    unknown_id: 0,
  }
  readonly #logger: Logger
  /** By id, the number of requests of the client without a response. */
  readonly #requests: LruMap<number>
  /** False once a request of the client was not seen, so that any id may be right. */
  #knowsIds = true
  #line = 0

  /** Remembers the ids of `limit` open requests. */
  constructor(limit: number, logger: Logger) {
    this.#logger = logger
    this.#requests = new LruMap(limit, () => (this.#knowsIds = false))
  }

  /** Learns the requests of the client. */
  fromClient({ kind, bytes }: LinePart): void {
    if (kind === 'more' || (kind !== 'long' && isBlank(bytes))) return
    const parsed = kind === 'long' ? undefined : parseMessages(bytes.toString())
    if (parsed?.ok !== true) {
      this.#knowsIds = false
      return
    }
    for (const message of parsed.messages) {
      if (message.kind !== 'request') continue
      const key = keyOf(message.id)
      this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    }
  }

  /** Checks a line of the server; those that are too long are not read. */
  fromServer({ kind, bytes }: LinePart): void {
    if (kind === 'more') return
    this.#line++
    if (kind === 'tail') this.#found('no_line_feed')
    if (kind !== 'line' || isBlank(bytes)) return
    const parsed = mayBeMessage(bytes) ? parseMessages(bytes.toString()) : NOT_JSON
    if (!parsed.ok) {
      // The others are limits of Squall.
      if (parsed.reason === 'not_json' || parsed.reason === 'not_json_rpc') {
        this.#found(parsed.reason)
      }
      return
    }
    for (const message of parsed.messages) {
      if (message.kind !== 'result' && message.kind !== 'error') continue
      // An error without an id responds to a request whose id could not be read.
      const isKnown = message.id === null || this.#isAnswered(keyOf(message.id))
      if (!isKnown && this.#knowsIds) this.#found('unknown_id')
    }
  }

  /** Takes one response to an id; returns false when no request with it is open. */
  #isAnswered(key: string): boolean {
    const open = this.#requests.get(key)
    if (open === undefined) return false
    if (open === 1) this.#requests.delete(key)
    else this.#requests.set(key, open - 1)
    return true
  }

  #found(reason: Violation): void {
    const count = ++this.counts[reason]
    if (count > MOST_LOGGED) return
    this.#logger.error(
      { reason, line: this.#line },
      count < MOST_LOGGED
        ? 'the server violates the protocol'
        : 'the server violates the protocol; further lines with this reason are only counted',
    )
  }
}

const NOT_JSON = { ok: false, reason: 'not_json' } as const
const MOST_LOGGED = 10

const LONGEST_KEY = 256

/** Returns a key in which the ids `1` and `"1"` differ; a long id is kept as its digest. */
function keyOf(id: JsonRpcId): string {
  const key = JSON.stringify(id)
  return key.length > LONGEST_KEY ? digest(key) : key
}
