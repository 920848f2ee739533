import type { IncomingMessage, ServerResponse } from 'node:http'

/** Why a body was not taken. */
export interface BodyProblem {
  readonly status: 400 | 408 | 413 | 415
  readonly error: string
}

/** A request's body, read as JSON; no body is no value. */
export type BodyResult = { readonly value: unknown } | { readonly problem: BodyProblem }

const MAX_BYTES = 4 * 1024
const JSON_TYPE = /^application\/json *(?:;|$)/i

/** True when a body comes with the request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

/** Reads a small JSON body, within a time. */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): Promise<BodyResult> {
  if (!hasBody(request)) return { value: undefined }
  const { headers } = request
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return refuse(415, 'a body must be application/json')
  }
  if (headers['content-encoding'] !== undefined) return refuse(415, 'no content encoding is taken')
  if (Number(headers['content-length'] ?? 0) > MAX_BYTES) return tooLarge()
  if (/^100-continue$/i.test(headers.expect ?? '')) response.writeContinue()
  const bytes = await collect(request, timeoutMs)
  if (bytes === 'late') return refuse(408, 'the body took too long')
  if (bytes === 'large') return tooLarge()
  if (bytes === 'cut') return refuse(400, 'the body is incomplete')
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { value: JSON.parse(text) as unknown }
  } catch {
    return refuse(400, 'the body is not JSON')
  }
}

function collect(
  request: IncomingMessage,
  timeoutMs: number,
): Promise<Buffer | 'late' | 'large' | 'cut'> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let size = 0
    const end = (result: Buffer | 'late' | 'large' | 'cut'): void => {
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

function tooLarge(): BodyResult {
  return refuse(413, `a body may have ${MAX_BYTES} bytes`)
}

function refuse(status: BodyProblem['status'], error: string): BodyResult {
  return { problem: { status, error } }
}
