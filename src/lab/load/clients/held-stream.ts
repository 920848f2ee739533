import { request } from 'undici'
import type { HeldStream } from './load-client.ts'

/** Opens the stream of a session; undefined when the server has none. Rejects when it is not reached. */
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
  const over = new Promise<void>((resolve) => body.once('close', () => resolve()))
  return { over, close: () => body.destroy() }
}
