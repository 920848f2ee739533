import { hash } from 'node:crypto'
import type { PostedMessages } from '../mcp/classify.ts'
import { headerValue, linesText, type RequestHead, type ResponseHead } from '../http/headers.ts'
import { redirectTarget, type RedirectTarget } from '../http/redirect-target.ts'
import type { CallEntry } from './call-entry.ts'
import type { Exchange } from './exchange.ts'
import type { FaultRun } from './faults/fault-run.ts'
import type { Observer } from './observer.ts'
import type { ExchangeRun } from './exchange-run.ts'

/** The calls of a request that the upstream redirected, until the client repeats the request. */
export interface RedirectedPost {
  /** The head of the request that was redirected. */
  readonly head: RequestHead
  readonly posted: PostedMessages
  readonly entries: readonly CallEntry[]
  readonly observer: Observer
  /** The faults that still act on the calls. */
  readonly faults: FaultRun | undefined
}

interface Held {
  readonly post: RedirectedPost
  readonly to: RedirectTarget
  readonly key: string
  readonly size: number
  /** The number of request bytes that are kept. */
  readonly weight: number
  readonly expires: number
}

/** Clients follow at once; who takes longer than this, in milliseconds, begins a new call. */
const PATIENCE = 10_000
const MAX_POSTS = 1_000
/** Bounds what the held calls keep of their requests. */
const MAX_BYTES = 8 * 1024 * 1024

/** Headers that tell clients apart, and that a client repeats when it follows a redirect. */
const OF_THE_CLIENT = ['authorization', 'mcp-session-id', 'user-agent', 'x-forwarded-for']

/**
 * Keeps the calls of redirected requests open, so that a request and its repetition are one call. A
 * repetition comes from the same peer, with the same client headers and the same body, to where the
 * redirect leads; each redirect is followed once. Nothing else is taken for one.
 */
export class RedirectedCalls {
  /** Oldest first. */
  #held: Held[] = []
  #bytes = 0
  readonly #unfollowed: (post: RedirectedPost, to: RedirectTarget, full: boolean) => void

  /** `unfollowed` gets what no client came back for, and what leaves a full table (`full`). */
  constructor(unfollowed: (post: RedirectedPost, to: RedirectTarget, full: boolean) => void) {
    this.#unfollowed = unfollowed
  }

  /** Keeps the calls of an exchange that the upstream redirects. False where no client can follow. */
  hold(way: ExchangeRun, response: ResponseHead, now: number): boolean {
    const { exchange, entries, observer, posted, faults } = way
    const { head } = exchange
    if (posted === undefined || observer === null) return false
    const to = redirectTarget(head, response)
    const bytes = exchange.body.kept
    if (to === undefined || bytes === undefined) return false
    const weight = bytes.length + to.target.length + linesText(head.headers).length
    const carried = faults?.followRedirect() === true ? faults : undefined
    const post = { head, posted, entries, observer, faults: carried }
    const key = keyOf(exchange, bytes)
    this.#held.push({ post, to, key, size: bytes.length, weight, expires: now + PATIENCE })
    this.#bytes += weight
    while (this.#held.length > MAX_POSTS || this.#bytes > MAX_BYTES) this.#drop(true)
    return true
  }

  /** Returns the redirected request that this one repeats; it leaves. */
  take(exchange: Exchange, bytes: Uint8Array): RedirectedPost | undefined {
    const { target } = exchange.head
    let key: string | undefined
    for (let at = 0; at < this.#held.length; at++) {
      const held = this.#held[at]!
      // Most requests are told apart without reading their bodies once more.
      if (held.size !== bytes.length || held.to.target !== target) continue
      if (held.key !== (key ??= keyOf(exchange, bytes))) continue
      this.#held.splice(at, 1)
      this.#bytes -= held.weight
      return held.post
    }
    return undefined
  }

  /** Gives up what has been held for too long. */
  expire(now: number): void {
    while (this.#held[0] !== undefined && this.#held[0].expires <= now) this.#drop(false)
  }

  #drop(full: boolean): void {
    const held = this.#held.shift()
    if (held === undefined) return
    this.#bytes -= held.weight
    this.#unfollowed(held.post, held.to, full)
  }
}

function keyOf({ head, peer }: Exchange, bytes: Uint8Array): string {
  const client = OF_THE_CLIENT.map((name) => headerValue(head.headers, name) ?? null)
  return hash('sha256', JSON.stringify([peer, ...client, hash('sha256', bytes)]))
}
