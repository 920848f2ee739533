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

/** Holds streams open during the load, as many as asked for. */
export function holdStreams(asked: number) {
  const closing = new AbortController()
  const { signal } = closing
  setMaxListeners(0, signal)
  const streams: HeldStream[] = []
  let [refused, lost] = [0, 0]
  return {
    /** Opens the streams, distributed among the clients. */
    open: async (clients: readonly LoadClient[]): Promise<void> => {
      const opening = Array.from({ length: asked }, async (_, i) => {
        const stream = await clients[i % clients.length]!.hold(signal).catch(() => undefined)
        if (stream === undefined) {
          refused++
          return
        }
        streams.push(stream)
        void stream.ended.then(() => (lost += signal.aborted ? 0 : 1))
      })
      await Promise.all(opening)
    },
    counts: (): HeldStreams => ({ asked, opened: streams.length, refused, lost }),
    close: (): void => {
      closing.abort()
      for (const stream of streams) stream.close()
    },
  }
}
