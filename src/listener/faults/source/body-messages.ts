import { headerValue, mediaType, type ResponseHead } from '../../../http/headers.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { parseMessages, toMessage } from '../../../mcp/json-rpc.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import { jsonElements } from './json-array.ts'

/** Returns the only message of a batch that has no other. */
export function onlyElement(body: Uint8Array): Uint8Array | undefined {
  if (onlyMessage(body) === undefined) return undefined
  const elements = jsonElements(body)
  return elements?.length === 1 ? elements[0] : undefined
}

/** Returns the only message of a body; undefined when it has none, or several. */
export function onlyMessage(body: Uint8Array): Message | undefined {
  const message = readMessage(body)
  return message === 'too_complex' ? undefined : message
}

/** Returns the only message of a body, or says that the body has too much in it to be read. */
export function readMessage(body: Uint8Array): Message | 'too_complex' | undefined {
  const parsed = parseMessages(textOf(body))
  if (!parsed.ok) return parsed.reason === 'too_complex' ? parsed.reason : undefined
  return parsed.messages.length === 1 ? parsed.messages[0] : undefined
}

/** Returns the message that a JSON text is; undefined when it is none. */
export function messageIn(raw: Uint8Array): Message | undefined {
  try {
    return toMessage(parseJson(textOf(raw)))
  } catch {
    return undefined
  }
}

/** True for an event stream. */
export function isStream({ headers, status }: ResponseHead): boolean {
  return mediaType(headerValue(headers, 'content-type')) === 'text/event-stream' && status < 300
}

/** True for bytes that are not empty. */
export function isThere({ length }: Uint8Array): boolean {
  return length > 0
}

/** Returns the bytes of several frames in one piece. */
export function joined(frames: readonly { readonly raw: Uint8Array }[]): Uint8Array {
  return frames.length === 1 ? frames[0]!.raw : Buffer.concat(frames.map(({ raw }) => raw))
}

/** Returns bytes as text. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
