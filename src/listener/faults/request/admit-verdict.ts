import type { Verdict } from '../../../filters/fault.ts'
import { asSseEvent } from '../../../mcp/reply.ts'
import type { CallRun } from '../call-run.ts'
import type { CallTexts } from './call-texts.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import { markComments } from '../emit/fault-marker.ts'
import type { FaultRunOptions } from '../fault-run-options.ts'
import { replyMessage, type RpcReply } from '../emit/injected-response.ts'
import { unfitChange } from './unfit-change.ts'
import { unfit } from './unfit.ts'

/** A request whose faults are asked. */
export interface AskedRequest {
  readonly options: FaultRunOptions
  readonly calls: readonly CallRun[]
  readonly texts: CallTexts
}

/** Tells why a verdict of the request phase cannot be carried out; what must happen at once, happens here. */
export async function admitVerdict(
  run: CallRun,
  verdict: Verdict,
  wireMark: string | undefined,
  { options, calls, texts }: AskedRequest,
): Promise<NotApplicableReason | undefined> {
  const { call } = run
  if (verdict.kind === 'edit' || verdict.kind === 'copies') {
    return unfitChange(call, verdict, texts, calls.indexOf(run))
  }
  const reason = unfit(call, verdict, calls.length > 1)
  if (reason !== undefined || verdict.kind !== 'respond') return reason
  const { reply } = verdict
  if (call?.transport !== 'http+sse' || reply.kind === 'http') return undefined
  return pushReply(run, reply, wireMark, options)
}

/** Sends the reply to a call by the stream of its session. */
function pushReply(
  run: CallRun,
  reply: RpcReply,
  wireMark: string | undefined,
  { push, session }: FaultRunOptions,
): NotApplicableReason | undefined {
  // Said before it is sent, so that whoever sees the event knows whose it is.
  run.madeOutcome = true
  const { bytes } = asSseEvent(replyMessage(reply, run.call!))
  const marked = wireMark === undefined ? bytes : Buffer.concat([markComments([wireMark]), bytes])
  const sent = push?.send(session, marked) ?? false
  run.madeOutcome = sent
  return sent ? undefined : 'no_push_stream'
}
