import type { MessageBudget } from '../../base/byte-budget.ts'
import type { EditCall } from '../../filters/fault.ts'
import type { ResponseHead } from '../../http/headers.ts'
import type { Call, Origin, Outcome } from '../../mcp/call.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import type { SideFaults } from '../side-faults.ts'
import type { Stop } from './chain/stop.ts'
import type { ExchangeContext } from './exchange-context.ts'

/**
 * The states of a call, as its client sees them:
 *
 * - `open`: the client waits; the call is held while a fault holds or changes it.
 * - `lost`: the connection ended while a fault held the response, which may come again.
 * - `responded`: the client has the end of the response, with the upstream's outcome.
 * - `replaced`: the client has another message, or a response with another outcome.
 * - `cut`: the client has a reset, an HTTP status or changed bytes instead of the response.
 */
export type CallState = 'open' | 'lost' | 'responded' | 'replaced' | 'cut'

type Transition = Readonly<Record<CallState, CallState>>

const cut = { ...to('cut'), responded: 'responded', replaced: 'replaced' } as const

/** All changes of a call's state. */
const TRANSITIONS = {
  /** The client gets the upstream's outcome; a response that was changed before stays injected. */
  responds: { ...to('responded'), replaced: 'replaced', cut: 'replaced' },
  /** The client gets a message of a fault, or another outcome. */
  replaces: to('replaced'),
  /** The client gets something else than the upstream's response. */
  changes: { ...cut, responded: 'replaced' },
  /** A fault ends the response; a call that has ended before keeps its state. */
  cuts: cut,
  /** The response may come again, after a connection that ended by itself, or by a fault. */
  reopens: to('open'),
  loses: to('lost'),
  /** The client gets the held response after all, on another connection. */
  restores: { ...to('open'), responded: 'responded', replaced: 'responded' },
} as const satisfies Record<string, Transition>

/** The position of a message among the others of its stream. */
export interface StreamPosition {
  /** True when another message waits for this one. */
  readonly overtakes: boolean
  /** True when the next message has passed. */
  isOvertaken: boolean
  /** The messages of the stream that wait for the next one. */
  readonly behind: CallProgress[]
  /** Ends the wait for the next message. */
  readonly ended: Stop
}

/** An injected call, or an exchange that an HTTP rule matched, as its faults see it. */
export interface CallProgress {
  readonly call: Call | undefined
  readonly context: ExchangeContext
  /** Counts the memory that faults hold. */
  readonly memory: MessageBudget
  /** The calls whose outcomes depend on the message, which is not a call. */
  readonly sideFaults: readonly SideFaults[]
  /** Aborted when the client leaves, the sidecar drains, or the exchange ends. */
  stop: Stop
  /** Changed by `move` alone. */
  state: CallState
  /** The number of faults that hold or change the call. */
  holders: number
  /** The edits of the request, in order. */
  edits: readonly EditCall[]
  /** The upstream's response, once known and before faults act on it. */
  upstreamResponse: Message | undefined
  /** True when the client received the upstream's response after all, on another connection. */
  isRestored: boolean
  /** Released: nobody waits for the call. Counted: its faults have ended, and so does the plan. */
  end: 'awaited' | 'released' | 'counted'
  /** The head of the upstream's response, if it belongs to this call alone. */
  response: ResponseHead | undefined
  /** The markers that must be sent with the next message, and with the head. */
  markers: readonly string[]
  headMarkers: readonly string[]
  /** The position of a message of the server on its stream. */
  position: StreamPosition | undefined
  /** Called when a fault begins to wait. */
  waiting: (() => void) | undefined
  hasWaited: boolean
  /** True while a fault keeps the message for good. */
  hangs: boolean
  /** True when the client cancelled the call before it was sent to the upstream. */
  isAbandoned: boolean
  /** True when the response comes on another connection than the request's. */
  isElsewhere: boolean
  /** True when the client may resume the stream and receive the response again. */
  isResumable: boolean
}

/** Changes the state of a call. */
export function move(own: CallProgress, by: keyof typeof TRANSITIONS): void {
  own.state = TRANSITIONS[by][own.state]
}

/** The outcomes of calls with a whole response. */
const RESPONDED: ReadonlySet<Outcome> = new Set(['ok', 'tool_error', 'rpc_error', 'http_error'])

/**
 * Returns the origin of the call's outcome, also of one that would end now. The fault causes the
 * outcome of an edited call, although the upstream responds to it. A fault that still holds the
 * call does not: the client has the whole response.
 */
export function originOf({ state, edits, holders }: CallProgress, outcome?: Outcome): Origin {
  const isChanged = state !== 'open' && state !== 'responded'
  const isHeld = holders > 0 && (outcome === undefined || !RESPONDED.has(outcome))
  return isChanged || edits.length > 0 || isHeld ? 'injected' : 'real'
}

/** Returns true when the client has received the end of the call. */
export function hasEnded({ state }: CallProgress): boolean {
  return state === 'responded' || state === 'replaced'
}

/** Returns the outcome that the upstream meant, when the client has received it. */
export function receivedOutcome({ state, call, upstreamResponse }: CallProgress) {
  if (state !== 'responded' || call === undefined) return undefined
  return upstreamResponse && outcomeOf(call, upstreamResponse)
}

/** Records the message with which the call ends for the client. */
export function respondedBy(own: CallProgress, message: Message | undefined): void {
  move(own, hasUpstreamOutcome(own, message) ? 'responds' : 'replaces')
}

/**
 * Records what faults of other rules made of the upstream's response, before those of the call act
 * on it.
 */
export function rewritten(own: CallProgress, meant?: Message, message?: Message): void {
  own.upstreamResponse = meant
  if (!hasUpstreamOutcome(own, message)) move(own, 'changes')
}

/**
 * Records a fault's reply before `send`, so that observers of the event see the right origin;
 * returns false, and changes nothing, when `send` does.
 */
export function repliedBy(own: CallProgress, send: () => boolean): boolean {
  const before = own.state
  move(own, 'changes')
  if (send()) return true
  own.state = before
  return false
}

/** Begins again for a response that may come again. */
export function reopen(own: CallProgress): void {
  move(own, originOf(own) === 'injected' ? 'loses' : 'reopens')
  own.upstreamResponse = undefined
  own.isRestored = false
}

/** Records that the client receives the held response after all, on another connection. */
export function restore(own: CallProgress): void {
  move(own, 'restores')
  own.isRestored = true
}

/** Ends a call, which counts as injected while a fault holds or has changed it. */
export function count(own: CallProgress): void {
  if (originOf(own) === 'injected') move(own, 'changes')
  own.end = 'counted'
}

/** Takes the markers that must be sent. */
export function takeMarkers(own: CallProgress): readonly string[] {
  const { markers } = own
  if (markers.length > 0) own.markers = []
  return markers
}

/** Adds a marker to the next message, or with `onHead` to the head. */
export function addMarker(own: CallProgress, marker: string, onHead: boolean): void {
  const markers = onHead ? own.headMarkers : own.markers
  if (markers.includes(marker)) return
  own[onHead ? 'headMarkers' : 'markers'] = [...markers, marker]
}

/** Returns true when the client learns the outcome that the upstream meant. */
function hasUpstreamOutcome(own: CallProgress, message: Message | undefined): boolean {
  const { call, upstreamResponse: meant } = own
  if (message === meant || call === undefined) return true
  // A message with another id is not a response to the call.
  const ends = message?.kind === 'result' || message?.kind === 'error'
  const reaches = ends && (message.id === call.id || message.id === null)
  return outcomeIn(call, meant) === outcomeIn(call, reaches ? message : undefined)
}

function outcomeIn(call: Call, message: Message | undefined): Outcome | undefined {
  return message && outcomeOf(call, message)
}

function to<State extends CallState>(state: State) {
  return { open: state, lost: state, responded: state, replaced: state, cut: state }
}
