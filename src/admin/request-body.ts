import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AdminResponse, rejection } from './admin-response.ts'

const MAX_BYTES = 4 * 1024
const JSON_TYPE = /^application\/json *(?:;|$)/i

/** Returns true when the request has a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

/** Reads a small JSON body within a time, or returns the rejection. Without a body the value is undefined. */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): Promise<{ readonly value: unknown } | AdminResponse> {
  if (!hasBody(request)) return { value: undefined }
  const { headers } = request
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return rejection(415, { error: 'the body must be application/json' })
  }
  if (headers['content-encoding'] !== undefined)
    return rejection(415, { error: 'content encodings are not supported' })
  if (Number(headers['content-length'] ?? 0) > MAX_BYTES) return tooLarge()
  if (/^100-continue$/i.test(headers.expect ?? '')) response.writeContinue()
  const bytes = await collect(request, timeoutMs)
  if (bytes === 'late') return rejection(408, { error: 'the body took too long' })
  if (bytes === 'large') return tooLarge()
  if (bytes === 'cut') return rejection(400, { error: 'the body is incomplete' })
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { value: JSON.parse(text) as unknown }
  } catch {
    return rejection(400, { error: 'the body is not JSON' })
  }
}

type Collected = Buffer | 'late' | 'large' | 'cut'

function collect(request: IncomingMessage, timeoutMs: number): Promise<Collected> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const end = (result: Collected): void => {
      clearTimeout(timer)
      request.removeAllListeners('data')
      request.pause()
      resolve(result)
    }
    const timer = setTimeout(() => end('late'), timeoutMs)
    request.on('data', (part: Buffer) => {
      size += part.length
      if (size > MAX_BYTES) end('large')
      else parts.push(part)
    })
    request.on('end', () => end(Buffer.concat(parts)))
    request.on('close', () => end('cut'))
    request.on('error', () => end('cut'))
  })
}

function tooLarge(): AdminResponse {
  return rejection(413, { error: `the body may have at most ${MAX_BYTES} bytes` })
}
