import { request } from 'undici'
import type { HeldStream, LoadClient } from './load-client.ts'
import { setMaxListeners } from 'node:events'
import type { HeldStreams } from '../results/result.ts'

/**
 * Opens the stream of a session; undefined when the server offers none. Rejects when the server
 * cannot be reached.
 */
export async function openHeldStream(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HeldStream | undefined> {
  const response = await request(url, {
    method: 'GET',
    headers: { ...headers, accept: 'text/event-stream' },
    headersTimeout: 10_000,
    bodyTimeout: 0,
    signal,
  })
  const type = String(response.headers['content-type'] ?? '').toLowerCase()
  if (response.statusCode !== 200 || !type.startsWith('text/event-stream')) {
    await response.body.dump()
    return undefined
  }
  const { body } = response
  body.on('error', () => {})
  body.resume()
  const ended = new Promise<void>((resolve) => body.once('close', () => resolve()))
  return { ended, close: () => body.destroy() }
}

/** Holds streams open during the load. */
export class HeldStreamSet {
  readonly #asked: number
  readonly #streams: HeldStream[] = []
  readonly #closing = new AbortController()
  #refused = 0
  #lost = 0

  constructor(asked: number) {
    this.#asked = asked
    setMaxListeners(0, this.#closing.signal)
  }

  /** Opens the streams, distributed among the clients. */
  async open(clients: readonly LoadClient[]): Promise<void> {
    const { signal } = this.#closing
    const opening = Array.from({ length: this.#asked }, async (_, i) => {
      const stream = await clients[i % clients.length]!.hold(signal).catch(() => undefined)
      if (stream === undefined) {
        this.#refused++
        return
      }
      this.#streams.push(stream)
      void this.#watch(stream)
    })
    await Promise.all(opening)
  }

  async #watch(stream: HeldStream): Promise<void> {
    await stream.ended
    if (!this.#closing.signal.aborted) this.#lost++
  }

  counts(): HeldStreams {
    const opened = this.#streams.length
    return { asked: this.#asked, opened, refused: this.#refused, lost: this.#lost }
  }

  close(): void {
    this.#closing.abort()
    for (const stream of this.#streams) stream.close()
  }
}
