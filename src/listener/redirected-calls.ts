import { hash } from 'node:crypto'
import type { PostedMessages } from '../mcp/classify.ts'
import { headerValue, linesText, type RequestHead, type ResponseHead } from '../http/headers.ts'
import { redirectTarget, type RedirectTarget } from '../http/redirect-target.ts'
import type { CallEntry } from './call-entry.ts'
import type { Exchange } from './exchange.ts'
import { followRedirect } from './faults/call-outcome.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { Observer } from './observer.ts'

/** A POST that the upstream redirected, until the client repeats the request. */
export interface RedirectedPost {
  /** The head of the first request. */
  readonly head: RequestHead
  readonly posted: PostedMessages
  readonly entries: readonly CallEntry[]
  readonly observer: Observer
  /** The faults that still act on the calls. */
  readonly faults: ExchangeFaults | undefined
  /** The time of the redirect. */
  readonly at: number
}

/** The messages of a POST and its open calls. */
export interface SentPost {
  readonly posted: PostedMessages | undefined
  readonly entries: readonly CallEntry[]
  /** Counts a POST without calls. */
  readonly account?: { readonly faults: ExchangeFaults | undefined } | undefined
}

interface Held {
  readonly post: RedirectedPost
  readonly to: RedirectTarget
  readonly key: string
  readonly size: number
  /** The kept bytes of the request. */
  readonly weight: number
}

/** A repetition after more than this, in milliseconds, is a new call. */
const FOLLOW_TIMEOUT = 10_000
const MAX_POSTS = 1_000
/** Bounds the kept bytes of all requests. */
const MAX_BYTES = 8 * 1024 * 1024

/** Headers that identify a client, and that it repeats after a redirect. */
const CLIENT_HEADERS = ['authorization', 'mcp-session-id', 'user-agent', 'x-forwarded-for']

/**
 * Keeps the calls of redirected requests open, so that a request and its repetition are one call. A
 * repetition comes from the same peer, with the same client headers and body, to the target of the
 * redirect; each redirect is followed once.
 */
export class RedirectedCalls {
  /** Oldest first. */
  #held: Held[] = []
  #bytes = 0
  readonly #unfollowed: (post: RedirectedPost, to: RedirectTarget, full: boolean) => void

  /** `unfollowed` gets requests that were not repeated in time, or left a full table (`full`). */
  constructor(unfollowed: (post: RedirectedPost, to: RedirectTarget, full: boolean) => void) {
    this.#unfollowed = unfollowed
  }

  /** Keeps the calls of a redirected exchange; returns false when no client can follow. */
  hold(
    { head, body, peer }: Exchange,
    { posted, entries, account }: SentPost,
    observer: Observer,
    response: ResponseHead,
    now: number,
  ): boolean {
    const to = redirectTarget(head, response)
    const bytes = body.kept
    if (posted === undefined || to === undefined || bytes === undefined) return false
    const faults = entries[0]?.faults ?? account?.faults
    const weight = bytes.length + to.target.length + linesText(head.headers).length
    const carried = faults !== undefined && followRedirect(faults) ? faults : undefined
    const post = { head, posted, entries, observer, faults: carried, at: now }
    const key = keyOf(head, peer, bytes)
    this.#held.push({ post, to, key, size: bytes.length, weight })
    this.#bytes += weight
    while (this.#held.length > MAX_POSTS || this.#bytes > MAX_BYTES) this.#drop(true)
    return true
  }

  /** Removes and returns the redirected request that this one repeats. */
  take(exchange: Exchange, bytes: Uint8Array): RedirectedPost | undefined {
    const { target } = exchange.head
    let key: string | undefined
    for (let at = 0; at < this.#held.length; at++) {
      const held = this.#held[at]!
      // Compares the size and target first, because the key hashes the body.
      if (held.size !== bytes.length || held.to.target !== target) continue
      if (held.key !== (key ??= keyOf(exchange.head, exchange.peer, bytes))) continue
      this.#held.splice(at, 1)
      this.#bytes -= held.weight
      return held.post
    }
    return undefined
  }

  /** Drops requests that were not repeated in time. */
  expire(now: number): void {
    const until = now - FOLLOW_TIMEOUT
    while (this.#held[0] !== undefined && this.#held[0].post.at <= until) this.#drop(false)
  }

  #drop(full: boolean): void {
    const held = this.#held.shift()
    if (held === undefined) return
    this.#bytes -= held.weight
    this.#unfollowed(held.post, held.to, full)
  }
}

function keyOf({ headers }: RequestHead, peer: string | undefined, bytes: Uint8Array): string {
  const client = CLIENT_HEADERS.map((name) => headerValue(headers, name) ?? null)
  return hash('sha256', JSON.stringify([peer, ...client, hash('sha256', bytes)]))
}
