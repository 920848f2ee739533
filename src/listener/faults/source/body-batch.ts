import { MAX_MESSAGES } from '../../../mcp/json-rpc.ts'
import { asJson, type Reply } from '../../../mcp/reply.ts'
import type { ResponseContext } from './response-part.ts'
import { messageIn } from './body-messages.ts'
import type { CallFaults } from '../call-faults.ts'
import { replyMessage } from '../emit/injected-response.ts'
import { jsonArray, jsonElements } from './json-array.ts'
import { AppFrame, SealedFrame, type ChainFrame } from '../chain/frame.ts'

/** Pipes a frame through the faults of a call. */
type Through = (owner: CallFaults, frame: AppFrame) => Promise<readonly ChainFrame[]>

/**
 * Pipes each call's part of a batch through the call's faults; returns undefined when nothing
 * changed.
 */
export async function changedBatch(
  { faults, replies, head }: ResponseContext,
  body: Uint8Array,
  through: Through,
): Promise<Uint8Array | undefined> {
  const elements = jsonElements(body) ?? (body.length === 0 ? [] : [body])
  let changed = replies.length > 0 && head.status < 300
  // A batch of calls is never this long, so these are not all responses.
  const tooMany = elements.length > MAX_MESSAGES
  if (tooMany) faults.leaveResponse('too_complex')
  const parts = await Promise.all(
    (tooMany ? [] : elements).map(async (raw): Promise<readonly Uint8Array[]> => {
      const message = messageIn(raw)
      const id = message?.kind === 'result' || message?.kind === 'error' ? message.id : undefined
      const own = faults.calls.find(({ call }) => call!.id === id)
      if (own?.actsOnResponse !== true) return [raw]
      const frame = new AppFrame('body', raw, message, true)
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
function replyBytes({ call }: CallFaults, frame: ChainFrame): Uint8Array | undefined {
  const reply = frame instanceof SealedFrame ? frame.reply : undefined
  if (reply === undefined || reply.kind === 'http' || call === undefined) return undefined
  return jsonBytes(replyMessage(reply, call))
}
