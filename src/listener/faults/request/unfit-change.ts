import type { Verdict } from '../../../filters/fault.ts'
import { withId } from '../../../filters/lib/json/message-id.ts'
import type { Call } from '../../../mcp/call.ts'
import type { CallTexts } from './call-texts.ts'
import type { NotApplicableReason } from '../fault-events.ts'

/** Edits the call at a place, or reads it for its copies; says why where that cannot be. */
export async function unfitChange(
  call: Call | undefined,
  verdict: Extract<Verdict, { readonly kind: 'edit' | 'copies' }>,
  texts: CallTexts,
  place: number,
): Promise<NotApplicableReason | undefined> {
  if (call === undefined) return 'nothing_to_act_on'
  if (verdict.kind === 'edit') return texts.edit(place, verdict.edit)
  if (!(verdict.copies > 0)) return 'nothing_to_act_on'
  // The responses to its copies would come by the stream that the client reads.
  if (call.transport === 'http+sse') return 'answered_elsewhere'
  const text = await texts.text(place)
  return text === undefined || withId(text, '0') === undefined ? 'unreadable' : undefined
}
