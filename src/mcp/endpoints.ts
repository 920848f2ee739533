import { LruMap } from '../base/lru-map.ts'

const MAX_TARGET = 2048

/**
 * Holds the message endpoints that HTTP+SSE streams announced: a POST to an endpoint belongs to its
 * stream.
 */
export class Endpoints {
  /**
   * The number of open streams per endpoint: simple servers announce the same endpoint to every
   * client.
   */
  readonly #streams: LruMap<number>

  constructor(limit: number, onEvict?: (key: string) => void) {
    this.#streams = new LruMap(limit, onEvict)
  }

  get size(): number {
    return this.#streams.size
  }

  /**
   * Learns an `endpoint` event; returns the session's key, or undefined when it names no endpoint.
   */
  announce(getTarget: string, data: string): string | undefined {
    const key = endpointKey(getTarget, data)
    if (key !== undefined) this.#streams.set(key, (this.#streams.get(key) ?? 0) + 1)
    return key
  }

  /** Returns the key of the session to which a POST to this target belongs. */
  lookup(postTarget: string): string | undefined {
    if (this.#streams.size === 0) return undefined
    if (this.#streams.get(postTarget) !== undefined) return postTarget
    // Clients may spell the target differently, or send it in absolute form.
    const key = endpointKey('/', postTarget)
    return key !== undefined && this.#streams.get(key) !== undefined ? key : undefined
  }

  /** Removes a stream of an endpoint; returns true when it was the last. */
  forget(key: string): boolean {
    const streams = this.#streams.get(key)
    if (streams === undefined) return false
    if (streams <= 1) return this.#streams.delete(key)
    this.#streams.set(key, streams - 1)
    return false
  }
}

/**
 * Returns path and query only: the host in an absolute URI is the upstream's external name, which
 * may differ here.
 */
export function endpointKey(base: string, reference: string): string | undefined {
  if (base.length > MAX_TARGET || reference.length > MAX_TARGET) return undefined
  let url: URL
  try {
    // As a base, a path that starts with two slashes would be read as a host.
    url = new URL(reference, base.startsWith('/') ? `http://localhost${base}` : base)
  } catch {
    return undefined
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  return url.pathname + url.search
}
