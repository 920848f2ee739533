import type { Call, Outcome } from '../../mcp/call.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import { isModern } from '../../mcp/protocol-version.ts'

/**
 * The states of a call, as its client sees them:
 *
 * - `open`: the client waits.
 * - `held`: the client waits, and a fault holds or changes the call meanwhile.
 * - `lost`: the connection ended while a fault held the response, which may come again.
 * - `responded`: the client has the end of the response, with the upstream's outcome.
 * - `replaced`: the client has another message, or a response with another outcome.
 * - `cut`: the client has a reset, an HTTP status or changed bytes instead of the response.
 *
 * `count` ends each of them.
 */
export type FateState = 'open' | 'held' | 'lost' | 'responded' | 'replaced' | 'cut'

/**
 * The states without the faults that act: a call is `held` while one acts and its state is `open`.
 */
type Base = Exclude<FateState, 'held'>
type Transitions = Readonly<Record<Base, Base>>

const OPEN: Transitions = all('open')
const LOST: Transitions = all('lost')
const REPLACED: Transitions = all('replaced')
const CUT: Transitions = { ...all('cut'), responded: 'responded', replaced: 'replaced' }
const CHANGED: Transitions = { ...CUT, responded: 'replaced' }
/** A response that was changed before stays injected. */
const RESPONDED: Transitions = { ...all('responded'), replaced: 'replaced', cut: 'replaced' }
const RESTORED: Transitions = { ...all('open'), responded: 'responded', replaced: 'responded' }

/** Decides how one call ends for its client. All changes of its state are methods of this class. */
export class Fate {
  readonly #call: Call | undefined
  #state: Base = 'open'
  /** The number of faults that hold or change the call. */
  #holders = 0
  #isEdited = false
  #upstreamResponse: Message | undefined
  #isRestored = false
  #isAbandoned = false
  #isElsewhere = false
  #isResumable = false
  #isReleased = false
  #isCounted = false

  constructor(call: Call | undefined) {
    this.#call = call
  }

  get state(): FateState {
    return this.#state === 'open' && this.#holders > 0 ? 'held' : this.#state
  }

  /**
   * True when a fault has caused the outcome of the call, or would cause it if the call ended now.
   * The fault causes the outcome of an edited call, although the upstream responds to it.
   */
  get injected(): boolean {
    const isChanged = this.#state !== 'open' && this.#state !== 'responded'
    return isChanged || this.#isEdited || this.#holders > 0
  }

  /** True when the client has received the end of the call. */
  get responded(): boolean {
    return this.#state === 'responded' || this.#state === 'replaced'
  }

  /** The upstream's response, once known. */
  get upstreamResponse(): Message | undefined {
    return this.#upstreamResponse
  }

  /** The outcome that the upstream meant, when the client has received it. */
  get outcome(): Outcome | undefined {
    if (this.#state !== 'responded' || this.#call === undefined) return undefined
    return this.#upstreamResponse && outcomeOf(this.#call, this.#upstreamResponse)
  }

  /** True when the client received the upstream's response after all, on another connection. */
  get isRestored(): boolean {
    return this.#isRestored
  }

  /** True when the client cancelled the call before it was sent to the upstream. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** True when the response comes on another connection than the request's. */
  get isElsewhere(): boolean {
    return this.#isElsewhere
  }

  /** True when the client may resume the stream and receive the response again. */
  get isResumable(): boolean {
    return this.#isResumable
  }

  /** True when the call is settled and nobody waits for its response. */
  get isReleased(): boolean {
    return this.#isReleased
  }

  /** True when the plan is finished and its results are counted. */
  get isCounted(): boolean {
    return this.#isCounted
  }

  /** Records that a fault begins to hold or change the call. */
  hold(): void {
    this.#holders++
  }

  /** Records that a fault no longer holds or changes the call. */
  letGo(): void {
    this.#holders--
  }

  /** Records that the upstream gets a changed call. */
  edited(): void {
    this.#isEdited = true
  }

  /** Records the upstream's response, before faults act on it. */
  upstreamResponded(message: Message | undefined): void {
    this.#upstreamResponse = message
  }

  /**
   * Records what faults of other rules made of the upstream's response, before those of the call
   * act on it.
   */
  rewritten(meant: Message | undefined, message: Message | undefined): void {
    this.#upstreamResponse = meant
    if (!this.#hasAppOutcome(message)) this.#to(CHANGED)
  }

  /** Records the message with which the call ends for the client. */
  respondedBy(message: Message | undefined): void {
    this.#to(this.#hasAppOutcome(message) ? RESPONDED : REPLACED)
  }

  /** Records that a message of a fault is the response to the call. */
  replied(): void {
    this.#to(REPLACED)
  }

  /** Records that the client receives something else than the upstream's response. */
  changed(): void {
    this.#to(CHANGED)
  }

  /** Records that a fault ends the response; a call that has ended before keeps its state. */
  cut(): void {
    this.#to(CUT)
  }

  /**
   * Records a fault's reply before `send`, so that observers of the event see the right origin;
   * returns false, and changes nothing, when `send` does.
   */
  repliedBy(send: () => boolean): boolean {
    const before = this.#state
    this.#to(CHANGED)
    if (send()) return true
    this.#state = before
    return false
  }

  /** Begins again for a response that may come again. */
  restart(): void {
    this.#to(this.injected ? LOST : OPEN)
    this.#upstreamResponse = undefined
    this.#isRestored = false
  }

  /** Records that the client receives the held response after all, on another connection. */
  restore(): void {
    this.#to(RESTORED)
    this.#isRestored = true
  }

  abandon(): void {
    this.#isAbandoned = true
  }

  respondElsewhere(): void {
    this.#isElsewhere = true
  }

  /** Records event ids: clients before protocol version 2026-07-28 may resume the stream. */
  mayResume(): void {
    this.#isResumable = !isModern(this.#call?.protocolVersion)
  }

  release(): void {
    this.#isReleased = true
  }

  /** Ends the call; one that a fault holds or has changed counts as injected. */
  count(): void {
    if (this.injected) this.#to(CHANGED)
    this.#isCounted = true
  }

  #to(transitions: Transitions): void {
    this.#state = transitions[this.#state]
  }

  /** Returns true when the client learns the outcome that the upstream meant. */
  #hasAppOutcome(message: Message | undefined): boolean {
    const call = this.#call
    const meant = this.#upstreamResponse
    if (message === meant || call === undefined) return true
    const before = meant === undefined ? undefined : outcomeOf(call, meant)
    // A message with another id is no response to the call.
    const reaches = message !== undefined && isResponseTo(call, message)
    return before === (reaches ? outcomeOf(call, message) : undefined)
  }
}

function all(state: Base): Transitions {
  return { open: state, lost: state, responded: state, replaced: state, cut: state }
}

function isResponseTo({ id }: Call, message: Message): boolean {
  const ends = message.kind === 'result' || message.kind === 'error'
  return ends && (message.id === id || message.id === null)
}
