import type { Call } from '../../../mcp/call.ts'
import { toMessage } from '../../../mcp/json-rpc.ts'
import { parseJson } from '../../../base/json/json-bounds.ts'
import { frameText, withText } from '../../../filters/lib/json/frame-json.ts'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Frame, Verdict } from '../../../filters/fault.ts'
import { splice } from '../../../base/json/json-edit.ts'
import type { Span } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { type CallInjection, leave } from '../call-injection.ts'
import { move } from '../call-state.ts'
import { upstreamFrame, type ChainFrame, repliedFrame } from '../chain/frame.ts'
import { piped, type ResponseCheck } from '../chain/fault-chain.ts'
import { replyMessage } from '../emit/injected-response.ts'
import { eventOf } from '../source/batch-events.ts'
import type { CallTexts } from './call-texts.ts'
import { checkVerdict } from '../../../rules/select/verdict-checks.ts'
import { type RequestVerdict, askFaults } from './verdicts.ts'

/**
 * Pipes the messages of a request other than calls through the faults that change, drop or repeat
 * messages. Adds the indexes of dropped messages to `dropped`, and returns the texts that the
 * upstream gets in addition.
 */
export async function pipeMessages(
  posted: readonly CallInjection[],
  calls: number,
  verdicts: readonly (RequestVerdict | undefined)[],
  texts: CallTexts,
  dropped: number[],
): Promise<readonly string[]> {
  const repeated: string[] = []
  for (let index = calls; index < posted.length; index++) {
    const own = posted[index]!
    if (verdicts[index]?.kind !== 'continue') continue
    leave(own, 'output', 'nothing_to_act_on')
    if (!own.readsResponse) continue
    const text = await texts.text(index)
    if (text === undefined) {
      leave(own, 'messages', 'unreadable')
      continue
    }
    const after = await pipedText(own, text)
    if (after === undefined) continue
    move(own, 'changes')
    const [first, ...more] = after
    if (first === undefined) dropped.push(index)
    else texts.replace(index, first)
    repeated.push(...more)
  }
  return repeated
}

/** Returns the texts that replace the text of a message; undefined when it does not change. */
async function pipedText(own: CallInjection, text: string): Promise<readonly string[] | undefined> {
  const call = own.call!
  const { kind, method, params } = call
  const isAsRead = kind === 'notification' && own.edits.length === 0
  const message = isAsRead ? { kind, method, params } : toMessage(parseJson(text))
  const frame = upstreamFrame('event', eventOf(text), message, true)
  const out: ChainFrame[] = []
  const check = (verdict: Verdict) => {
    const isReply = verdict.kind === 'respond' && verdict.reply.kind !== 'http'
    return isReply ? checkVerdict(call, verdict, true) : 'nothing_to_act_on'
  }
  await piped(own, frame, out, check, 'nothing_to_act_on')
  if (out.length === 1 && out[0] === frame) return undefined
  return out.map((each) => textOf(each, call))
}

function textOf(frame: ChainFrame, call: Call): string {
  const { raw, reply } = frame
  if (reply !== undefined && reply.kind !== 'http') {
    return JSON.stringify(replyMessage(reply, call))
  }
  // A damaged text may have no data line.
  const event = { kind: 'event', raw, message: undefined, last: true } as const
  return frameText(event) ?? Buffer.from(raw).toString()
}

/**
 * Takes a message other than a response through the faults of its rules, as the only frame of one:
 * returns what takes its place, a reply among it. `uncut` is the reason for which no fault may cut
 * the stream, if any; `part` finds the message in the text of its frame. Rejects with `CutResponse`
 * when a fault resets the connection.
 */
export async function pipedMessage(
  owner: CallInjection,
  original: Frame,
  check: ResponseCheck,
  uncut: NotApplicableReason | undefined,
  part: (text: string) => Span | undefined = readJson,
): Promise<readonly ChainFrame[]> {
  let frame = original
  const verdict = await askFaults(owner, async (wanted) => {
    const reason = check(wanted)
    if (reason !== undefined || wanted.kind !== 'edit') return reason
    const text = frameText(frame)
    const at = text === undefined ? undefined : part(text)
    if (text === undefined || at === undefined) return 'unreadable'
    const { start, end } = at
    const edited = await wanted.edit(text.slice(start, end))
    if (edited === undefined) return 'nothing_to_act_on'
    frame = withText(frame, splice(text, [{ start, end, text: edited }]))
    return undefined
  })
  if (verdict.kind === 'lost') return []
  if (verdict.kind === 'reset') throw new CutResponse(verdict.how)
  if (verdict.kind === 'respond') return [repliedFrame(frame, verdict.reply)]
  leave(owner, 'output', 'nothing_to_act_on')
  const out: ChainFrame[] = []
  await piped(owner, { ...frame, last: true }, out, check, uncut)
  return out
}
