import type { Call } from '../../mcp/call.ts'
import type { NotApplicableReason } from './not-applicable.ts'

/** What a fault is asked about: a call that is healthy otherwise, and the kind of its response. */
export interface OutlookSetting {
  /** Undefined when a rule about HTTP hits: its faults know nothing of calls. */
  readonly call: Call | undefined
  readonly session: string | undefined
  /** Something in the request says who the caller is. */
  readonly identified: boolean
  readonly response: 'body' | 'events'
  /** False for a stream that answers no call: it has no last event. */
  readonly ends: boolean
}

/** The hook that does it. */
export type OutlookHook = 'request' | 'beforeResponse' | 'response' | 'output'

/** What a verdict asks for, where that is not to go on. */
export type Asked =
  'status' | 'status for all' | 'message' | 'reset' | 'silence' | 'edit' | 'copies'

/** What a fault would do, as far as it can tell by itself: not every exchange lets it. */
export type Outlook =
  | {
      readonly by: OutlookHook
      /** In a few words. */
      readonly does: string
      readonly asks?: Asked
      /** With `by: response`: events before the one that answers the call are its business as well. */
      readonly any?: true
      /** What else has to be there; undefined when it acts for certain. */
      readonly needs?: string | undefined
    }
  | { readonly cannot: NotApplicableReason }

/** What a fault says that finds nothing to act on. */
export const NOTHING: Outlook = { cannot: 'nothing_to_act_on' }
