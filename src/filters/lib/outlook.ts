import type { Call } from '../../mcp/call.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import type { NotApplicableReason } from './not-applicable.ts'

/**
 * An otherwise healthy call and the kind of its response, for which a fault predicts its effect.
 */
export interface OutlookInput {
  /** Undefined for a rule about HTTP. */
  readonly call: Call | undefined
  readonly session: string | undefined
  /** Something in the request says who the caller is. */
  readonly identified: boolean
  readonly response: 'body' | 'events'
  /** Several calls share the stream, where not every message belongs to a call. */
  readonly shared: boolean
  /** False for a stream without a response: it has no last event. */
  readonly ends: boolean
}

export type OutlookHook = 'request' | 'beforeResponse' | 'response' | 'output'

/** The effect of a verdict other than `continue`. */
export type Asked =
  'status' | 'status for all' | 'message' | 'reset' | 'silence' | 'edit' | 'copies'

/** Predicts the effect of a fault; not every exchange allows it. */
export type Outlook =
  | {
      readonly by: OutlookHook
      readonly does: string
      readonly asks?: Asked
      /**
       * With `by: response`: it also acts on events before the one with the response.
       */
      readonly any?: true
      /** A condition for the effect; undefined when the fault acts for certain. */
      readonly needs?: string | undefined
    }
  | { readonly cannot: NotApplicableReason }

/** The prediction of a fault that finds nothing to act on. */
export const NOTHING: Outlook = { cannot: 'nothing_to_act_on' }

/** Returns true for a request of the server within a result, as all are from 2026-07-28 on. */
export function isInputRequest(call: Call | undefined): boolean {
  return call?.from === 'server' && call.kind === undefined && isModern(call.protocolVersion)
}
