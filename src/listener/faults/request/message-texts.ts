import type { Call } from '../../../mcp/call.ts'
import { toMessage } from '../../../mcp/json-rpc.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { frameText } from '../../../filters/lib/json/frame-json.ts'
import type { Verdict } from '../../../filters/fault.ts'
import type { CallFaults, RequestVerdict } from '../call-faults.ts'
import type { ExchangeParts } from '../exchange-faults-options.ts'
import { appFrame, type ChainFrame, SealedFrame } from '../chain/frame.ts'
import { piped } from '../chain/fault-chain.ts'
import { replyMessage } from '../emit/injected-response.ts'
import type { CallTexts } from './call-texts.ts'
import { checkVerdict } from './verdicts.ts'

/**
 * Pipes the messages of a request that are no calls through the faults that change, drop or repeat
 * messages. Adds the indexes of dropped messages to `dropped`, and returns the texts that the app gets
 * in addition.
 */
export async function pipeMessages(
  { calls, messages }: Pick<ExchangeParts, 'calls' | 'messages'>,
  verdicts: readonly (RequestVerdict | undefined)[],
  texts: CallTexts,
  dropped: number[],
): Promise<readonly string[]> {
  const repeated: string[] = []
  for (const [at, faults] of messages.entries()) {
    const index = calls.length + at
    if (verdicts[index]?.kind !== 'continue') continue
    faults.leaveOutput('nothing_to_act_on')
    if (!faults.readsResponse) continue
    const text = await texts.text(index)
    if (text === undefined) {
      faults.leaveResponse('unreadable')
      continue
    }
    const after = await pipedText(faults, text)
    if (after === undefined) continue
    faults.fate.changed()
    const [first, ...more] = after
    if (first === undefined) dropped.push(index)
    else texts.replace(index, first)
    repeated.push(...more)
  }
  return repeated
}

/** Returns the texts that replace the text of a message; undefined when it does not change. */
async function pipedText(faults: CallFaults, text: string): Promise<readonly string[] | undefined> {
  const call = faults.call!
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  const raw = Buffer.from(`${lines.join('')}\n`)
  const frame = appFrame('event', raw, toMessage(parseJson(text)), true)
  const out: ChainFrame[] = []
  const check = (verdict: Verdict) => {
    const isReply = verdict.kind === 'respond' && verdict.reply.kind !== 'http'
    return isReply ? checkVerdict(call, verdict, true) : 'nothing_to_act_on'
  }
  await piped(faults, frame, out, check, 'nothing_to_act_on')
  if (out.length === 1 && out[0] === frame) return undefined
  return out.map((each) => textOf(each, call))
}

function textOf(frame: ChainFrame, call: Call): string {
  if (frame instanceof SealedFrame) {
    const { reply } = frame
    if (reply !== undefined && reply.kind !== 'http') {
      return JSON.stringify(replyMessage(reply, call))
    }
  }
  // A damaged text may have no data line.
  const { raw } = frame
  const event = { kind: 'event', raw, message: undefined, last: true } as const
  return frameText(event) ?? Buffer.from(raw).toString()
}
