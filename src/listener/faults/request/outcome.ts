import type { Reply } from '../../../mcp/reply.ts'
import type { RequestVerdict } from '../call-faults.ts'
import { replyMessage } from '../emit/injected-response.ts'
import type { ExchangeParts, RequestOutcome } from '../exchange-faults-options.ts'

/**
 * Joins the verdicts on the messages of a request. Adds the indexes of messages that the app does not
 * get to `responded`, and the replies of faults to `replies`.
 */
export function requestOutcome(
  { posted }: Pick<ExchangeParts, 'posted'>,
  verdicts: readonly (RequestVerdict | undefined)[],
  responded: number[],
  replies: Reply[],
  repeated: readonly string[],
): RequestOutcome {
  for (const [index, verdict] of verdicts.entries()) {
    const faults = posted[index]!
    if (faults.fate.isAbandoned) {
      responded.push(index)
      continue
    }
    if (verdict === undefined) continue
    if (verdict.kind === 'reset') return { kind: 'cut', how: verdict.how }
    if (verdict.kind !== 'respond') continue
    const { reply } = verdict
    if (reply.kind === 'http') {
      for (const { fate } of posted) fate.changed()
      return { kind: 'http', reply }
    }
    const call = faults.call!
    faults.fate.replied()
    responded.push(index)
    if (call.transport !== 'http+sse') replies.push(replyMessage(reply, call))
  }
  return { kind: 'forward', responded, replies, repeated }
}
