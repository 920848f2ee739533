import { LruMap } from '../base/lru-map.ts'

const MAX_TARGET = 2048

/** The message endpoints that HTTP+SSE streams have announced: a POST to one belongs to its stream. */
export class Endpoints {
  /** How many open streams share an endpoint: simple servers announce the same to everybody. */
  readonly #streams: LruMap<number>

  constructor(limit: number, onEvict?: (key: string) => void) {
    this.#streams = new LruMap(limit, onEvict)
  }

  /** How many endpoints are known. */
  get size(): number {
    return this.#streams.size
  }

  /** Learns an `endpoint` event; returns the session's key, or undefined when it names no endpoint. */
  announce(getTarget: string, data: string): string | undefined {
    const key = resolve(getTarget, data)
    if (key !== undefined) this.#streams.set(key, (this.#streams.get(key) ?? 0) + 1)
    return key
  }

  /** The key of the session that a POST to this target belongs to. */
  lookup(postTarget: string): string | undefined {
    if (this.#streams.size === 0) return undefined
    if (this.#streams.get(postTarget) !== undefined) return postTarget
    // Clients may spell the same target in another way, or send it in absolute form.
    const key = resolve('/', postTarget)
    return key !== undefined && this.#streams.get(key) !== undefined ? key : undefined
  }

  /** One stream of this endpoint has ended; true when it was the last. */
  forget(key: string): boolean {
    const streams = this.#streams.get(key)
    if (streams === undefined) return false
    if (streams <= 1) return this.#streams.delete(key)
    this.#streams.set(key, streams - 1)
    return false
  }
}

/**
 * Path and query alone: the host in an absolute URI is how the app believes it is reached from
 * outside, which says nothing about what arrives here.
 */
function resolve(base: string, reference: string): string | undefined {
  if (base.length > MAX_TARGET || reference.length > MAX_TARGET) return undefined
  let url: URL
  try {
    // A relative path that starts with two slashes would be read as a host in a base.
    url = new URL(reference, base.startsWith('/') ? `http://localhost${base}` : base)
  } catch {
    return undefined
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  return url.pathname + url.search
}
