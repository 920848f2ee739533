import { type ResponseHead, headerValue, mediaType } from '../../../http/headers.ts'
import { jsonArray, jsonElements } from '../../../base/json/json-array.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { MAX_MESSAGES, type Message, parseMessages, toMessage } from '../../../mcp/json-rpc.ts'
import { keepRead, readOf } from '../../../mcp/read-messages.ts'
import { type Reply, asJson } from '../../../mcp/reply.ts'
import type { ResponseContext } from './response-part.ts'
import { type CallInjection, actsOnResponse } from '../call-injection.ts'
import { replyMessage } from '../emit/injected-response.ts'
import { type UpstreamFrame, upstreamFrame, type ChainFrame, SealedFrame } from '../chain/frame.ts'

/** Returns the message of a body with one message. */
export function onlyMessage(body: Uint8Array): Message | undefined {
  const messages = readMessages(body)
  return typeof messages !== 'string' && messages.length === 1 ? messages[0] : undefined
}

/** Returns the messages of a body, none for a body without any, or `too_complex`. */
export function readMessages(body: Uint8Array): readonly Message[] | 'too_complex' {
  const known = readOf(body)
  if (known !== undefined) return known.messages
  const parsed = parseMessages(textOf(body))
  if (parsed.ok) {
    keepRead(body, parsed)
    return parsed.messages
  }
  return parsed.reason === 'too_complex' ? parsed.reason : []
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

/** Joins the bytes of several frames. */
export function joined(frames: readonly { readonly raw: Uint8Array }[]): Uint8Array {
  return frames.length === 1 ? frames[0]!.raw : Buffer.concat(frames.map(({ raw }) => raw))
}

/** Decodes bytes as text. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** Pipes a frame through the faults of a call. */
type Through = (owner: CallInjection, frame: UpstreamFrame) => Promise<readonly ChainFrame[]>

/**
 * Pipes each call's part of a batch through the call's faults; returns undefined when nothing
 * changed. `messages` are those of the body, where they are known.
 */
export async function changedBatch(
  { faults, replies, head }: ResponseContext,
  body: Uint8Array,
  messages: readonly Message[] | undefined,
  through: Through,
): Promise<Uint8Array | undefined> {
  const elements = jsonElements(body) ?? (body.length === 0 ? [] : [body])
  let changed = replies.length > 0 && head.status < 300
  // A batch of calls is never this long, so these are not all responses.
  const tooMany = elements.length > MAX_MESSAGES
  if (tooMany) faults.leaveResponse('too_complex')
  const parts = await Promise.all(
    (tooMany ? [] : elements).map(async (raw, index): Promise<readonly Uint8Array[]> => {
      const message = messages?.length === elements.length ? messages[index] : messageIn(raw)
      const id = message?.kind === 'result' || message?.kind === 'error' ? message.id : undefined
      const own = faults.calls.find(({ call }) => call!.id === id)
      if (own === undefined || !actsOnResponse(own)) return [raw]
      const frame = upstreamFrame('body', raw, message, true)
      const out = await through(own, frame)
      if (out.length !== 1 || out[0] !== frame) changed = true
      return out.map((piece) => replyBytes(own, piece) ?? piece.raw)
    }),
  )
  if (!changed) return undefined
  const own = head.status < 300 ? replies.map((reply) => jsonBytes(reply)) : []
  const rest = tooMany ? elements : parts.flat().filter((element) => element.length > 0)
  return jsonArray(own.concat(rest))
}

/** Encodes a reply as a JSON body. */
export function jsonBytes(reply: Reply): Uint8Array {
  return asJson(reply).bytes
}

/** Encodes the reply of a frame; returns undefined when it has none. */
function replyBytes({ call }: CallInjection, frame: ChainFrame): Uint8Array | undefined {
  const reply = frame instanceof SealedFrame ? frame.reply : undefined
  if (reply === undefined || reply.kind === 'http' || call === undefined) return undefined
  return jsonBytes(replyMessage(reply, call))
}
