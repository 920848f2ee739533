import { headerValue, mediaType, type ResponseHead } from '../../../http/headers.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { parseMessages, toMessage } from '../../../mcp/json-rpc.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import { jsonElements } from './json-array.ts'

/** Returns the element of a batch with one message. */
export function onlyElement(body: Uint8Array): Uint8Array | undefined {
  if (onlyMessage(body) === undefined) return undefined
  const elements = jsonElements(body)
  return elements?.length === 1 ? elements[0] : undefined
}

/** Returns the message of a body with one message. */
export function onlyMessage(body: Uint8Array): Message | undefined {
  const message = readMessage(body)
  return message === 'too_complex' ? undefined : message
}

/** Returns the message of a body with one message, or `too_complex`. */
export function readMessage(body: Uint8Array): Message | 'too_complex' | undefined {
  const parsed = parseMessages(textOf(body))
  if (!parsed.ok) return parsed.reason === 'too_complex' ? parsed.reason : undefined
  return parsed.messages.length === 1 ? parsed.messages[0] : undefined
}

/** Reads a JSON text as a message; returns undefined when it is none. */
export function messageIn(raw: Uint8Array): Message | undefined {
  try {
    return toMessage(parseJson(textOf(raw)))
  } catch {
    return undefined
  }
}

/** Returns true for an event stream. */
export function isStream({ headers, status }: ResponseHead): boolean {
  return mediaType(headerValue(headers, 'content-type')) === 'text/event-stream' && status < 300
}

/** Returns true for bytes that are not empty. */
export function isThere({ length }: Uint8Array): boolean {
  return length > 0
}

/** Joins the bytes of several frames. */
export function joined(frames: readonly { readonly raw: Uint8Array }[]): Uint8Array {
  return frames.length === 1 ? frames[0]!.raw : Buffer.concat(frames.map(({ raw }) => raw))
}

/** Decodes bytes as text. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
