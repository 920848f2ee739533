import { request } from 'undici'
import type { HeldStream } from './load-client.ts'

/** Opens the stream of a session; undefined when the server has none. Rejects when it is not reached. */
export async function openHeldStream(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HeldStream | undefined> {
  const answer = await request(url, {
    method: 'GET',
    headers: { ...headers, accept: 'text/event-stream' },
    headersTimeout: 10_000,
    bodyTimeout: 0,
    signal,
  })
  const type = String(answer.headers['content-type'] ?? '').toLowerCase()
  if (answer.statusCode !== 200 || !type.startsWith('text/event-stream')) {
    await answer.body.dump()
    return undefined
  }
  const { body } = answer
  body.on('error', () => {})
  body.resume()
  const over = new Promise<void>((resolve) => body.once('close', () => resolve()))
  return { over, close: () => body.destroy() }
}
