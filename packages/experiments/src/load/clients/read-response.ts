import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { fieldsOf, isRecord, readUpTo } from '#base'
import { eventMessages, type Message, parseMessages, SseFramer } from '#protocol'
import type { CallResponse } from './load-client.ts'
import { markerIn, markersOf } from './markers.ts'

const MAX_RESPONSE = 16 * 1024 * 1024
const MAX_ERROR_TEXT = 64 * 1024
const LINGER_MS = 1000
const MAX_RETRY_AFTER_S = 30

interface RawResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

/** Reads the response to the request with this id. Rejects when the connection breaks. */
export async function readResponse(
  { statusCode, headers, body }: RawResponse,
  id: number,
  hidden: (text: string) => string,
): Promise<CallResponse> {
  const markers = markersOf(headers['x-squall-fault'])
  const fromSquall = headers['x-squall-error'] !== undefined
  if (statusCode >= 400) {
    const text = await readText(body, MAX_ERROR_TEXT)
    return {
      kind: 'http',
      code: statusCode,
      markers,
      fromSquall,
      message: errorText(hidden(text ?? '')),
      ...retryAfter(headers['retry-after']),
    }
  }
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  if (type === 'text/event-stream') return readEvents(body, id, markers)
  const text = await readText(body, MAX_RESPONSE)
  const malformed = (message: string): CallResponse => ({ kind: 'malformed', markers, message })
  if (text === undefined) return malformed('the response is too long')
  if (text === '')
    return { kind: 'incomplete', markers, message: `status ${statusCode} and an empty body` }
  if (type !== 'application/json') {
    return malformed(`a response with content type ${type.slice(0, 40) || 'none'}`)
  }
  const parsed = parseMessages(text)
  if (!parsed.ok) return malformed('the response is not valid JSON-RPC')
  const message = parsed.messages.find((each) => isResponseTo(each, id))
  if (message === undefined) return malformed('the response id does not match the request id')
  return toResponse(message, markers)
}

/** Finds the response among the events; later events are ignored. */
function readEvents(body: Readable, id: number, markers: string[]): Promise<CallResponse> {
  return new Promise((resolve, reject) => {
    const framer = new SseFramer(MAX_RESPONSE)
    let found = false
    let lingering: NodeJS.Timeout | undefined
    body.on('data', (chunk: Buffer) => {
      if (found) return
      framer.push(chunk, (frame) => {
        if (found || frame.oversized) return
        const marker = markerIn(frame.raw)
        if (marker !== undefined) markers.push(marker)
        const message = eventMessages(frame).messages.find((each) => isResponseTo(each, id))
        if (message === undefined) return
        found = true
        // Most servers end the stream themselves, and then the connection can be reused.
        lingering = setTimeout(() => body.destroy(), LINGER_MS)
        resolve(toResponse(message, markers))
      })
    })
    body.on('error', (error) => (found ? undefined : reject(error)))
    body.on('close', () => {
      clearTimeout(lingering)
      resolve({ kind: 'incomplete', markers, message: 'the stream ended without the response' })
    })
  })
}

function isResponseTo(message: Message, id: number): boolean {
  return (
    (message.kind === 'result' || message.kind === 'error') &&
    (message.id === id || (message.kind === 'error' && message.id === null))
  )
}

function toResponse(message: Message, markers: readonly string[]): CallResponse {
  if (message.kind === 'error') {
    const { code, message: text, data } = fieldsOf(message.error)
    const fromSquall = fieldsOf(data)['origin'] === 'squall'
    return {
      kind: 'rpc',
      markers,
      fromSquall,
      ...(typeof code === 'number' && { code }),
      message: typeof text === 'string' ? text : '',
    }
  }
  const result = message.kind === 'result' ? message.result : undefined
  if (!isRecord(result)) return { kind: 'malformed', markers, message: 'result is not an object' }
  return toolResponse(result, markers)
}

export function toolResponse(
  result: Readonly<Record<string, unknown>>,
  markers: readonly string[],
): CallResponse {
  if (result['isError'] !== true) return { kind: 'ok', markers, result }
  const content: unknown = result['content']
  const { text } = fieldsOf(Array.isArray(content) ? content[0] : undefined)
  return { kind: 'tool', markers, result, message: typeof text === 'string' ? text : '' }
}

/** Reads the whole body; undefined when the body is too long. */
async function readText(body: Readable, most: number): Promise<string | undefined> {
  const bytes = await readUpTo(body, most)
  return bytes.length > most ? undefined : bytes.toString('utf8')
}

function errorText(text: string): string {
  const parsed = parseMessages(text)
  const message = parsed.ok ? parsed.messages[0] : undefined
  if (message?.kind !== 'error' || !isRecord(message.error)) return text.slice(0, 200)
  const reason = message.error['message']
  return typeof reason === 'string' ? reason.slice(0, 200) : ''
}

/** Reads the seconds of a Retry-After header. */
export function retryAfter(value: string | undefined): { retryAfterMs?: number } {
  if (value === undefined || !/^\d{1,6}$/.test(value)) return {}
  return { retryAfterMs: Math.min(MAX_RETRY_AFTER_S, Number(value)) * 1000 }
}
