import { digest } from '../../../base/digest.ts'
import { KEEP_ALL, type Keeping, type Room } from '../../../base/room.ts'
import type { FaultContext, FaultHost, Overtaking } from '../../../filters/fault.ts'
import { callerText } from '../../../http/caller-identity.ts'
import { type ResponseHead, headerValue, headerValues } from '../../../http/headers.ts'
import type { Call, ClientInfo } from '../../../mcp/call.ts'
import type { MatchedRule } from '../../../rules/select/matched-rule.ts'
import { nextLoop } from '../../../base/event-loop.ts'
import type {
  ExchangeContext,
  FaultListener,
  FaultOrigin,
  FaultRef,
  NotApplicableReason,
} from '../exchange-context.ts'
import type { Fate } from '../fate.ts'
import { type Stop, interruptibleWait } from './stop.ts'
import type { Message } from '../../../mcp/json-rpc.ts'

/**
 * Shows one fault the call on which it acts; its effects are added by `ActiveFault`. A class,
 * because an object literal with getters costs a hidden class each time, which keeps all that the
 * getters use until the next major garbage collection.
 */
export abstract class ActiveContext implements FaultContext {
  readonly owner: ActiveFaultOwner
  /**
   * Aborted when the rule is withdrawn. Read once: a rule that becomes active again gets another
   * signal.
   */
  readonly withdrawn: AbortSignal
  protected readonly matched: MatchedRule
  protected readonly ref: FaultRef
  readonly #index: number
  #random: (() => number) | undefined

  /** `index` is the position of the fault in its rule. */
  constructor(matched: MatchedRule, index: number, owner: ActiveFaultOwner) {
    const { rule, retired } = matched
    this.owner = owner
    this.matched = matched
    this.withdrawn = retired
    this.ref = { rule: rule.name, fault: rule.uses[index]!.fault, call: owner.call }
    this.#index = index
  }

  get call(): Call | undefined {
    return this.owner.call
  }

  get session(): string | undefined {
    return this.owner.exchangeContext.facts.session
  }

  get client(): ClientInfo | undefined {
    return this.owner.exchangeContext.facts.client
  }

  get caller(): string | undefined {
    const text = callerText(this.owner.exchangeContext.request, this.session)
    return text === undefined ? undefined : digest(text)
  }

  get response(): ResponseHead | undefined {
    return this.owner.response
  }

  get requestBytes(): number {
    return this.owner.exchangeContext.requestBytes
  }

  get marked(): boolean {
    return this.matched.rule.marker
  }

  get host(): FaultHost {
    const { control } = this.owner.exchangeContext
    const { origin, matched } = this
    const { closePort } = control
    return {
      refuseConnections: (ms) => control.refuseConnections(ms, origin),
      closePort: closePort && ((ms) => closePort(Math.min(ms, matched.endsIn(this.now())), origin)),
      watchFor: (word) => control.watchFor(word),
      server: control.server,
    }
  }

  protected get origin(): FaultOrigin {
    return { ref: this.ref, marked: this.marked, retired: this.withdrawn }
  }

  get now(): () => number {
    return this.owner.exchangeContext.now
  }

  get keeping(): Keeping {
    return this.owner.exchangeContext.keeping ?? KEEP_ALL
  }

  get signal(): AbortSignal {
    return this.owner.stop.signal
  }

  get random(): () => number {
    return (this.#random ??= this.matched.random(this.#index))
  }

  get nextLoop(): () => Promise<void> {
    return nextLoop
  }

  get group(): object {
    return this.owner.exchangeContext.group ?? this.owner
  }

  header(name: string): string | undefined {
    return headerValue(this.owner.exchangeContext.facts.headers, name)
  }

  headers(name: string): readonly string[] {
    return headerValues(this.owner.exchangeContext.facts.headers, name)
  }

  memory<Memory>(make: () => Memory): Memory {
    return this.matched.memory(this.#index, make)
  }

  reserve(bytes: number): NotApplicableReason | undefined {
    return this.owner.reserve(bytes)
  }

  retired(): Promise<void> {
    return interruptibleWait(Infinity, this.withdrawn, this.owner.stop).catch(() => undefined)
  }

  abstract sleep(ms: number): Promise<void>
  abstract overtaken(): Promise<Overtaking>
  abstract injected(effect?: string): void
  abstract withinLimit(): void
  abstract cannot(reason: NotApplicableReason): void
}

/** The position of a message among the others of its stream. */
export interface StreamPosition {
  /** True when another message waits for this one. */
  readonly overtakes: boolean
  /** True when the next message has passed. */
  readonly isOvertaken: boolean
  /** Returns what ends the wait for the next message. */
  wait(): Stop
}

/** Provides the state of the call on which a fault acts. */
export interface ActiveFaultOwner {
  readonly call: Call | undefined
  readonly fate: Pick<Fate, 'hold' | 'letGo'>
  readonly exchangeContext: ExchangeContext
  /** Aborted when the client leaves, the sidecar drains, or the exchange ends. */
  readonly stop: Stop
  /** The head of the upstream's response, if it belongs to this call alone. */
  readonly response: ResponseHead | undefined
  readonly listener: FaultListener
  /** Undefined for a message that is not on a stream. */
  readonly position: StreamPosition | undefined
  /** Counts the memory that faults hold. */
  readonly memory: Room
  reserve(bytes: number): NotApplicableReason | undefined
  onWait(): void
  /** Called when a fault takes effect, with the message of a response that it took last. */
  onEffect(taken: Message | undefined): void
  /** Adds a marker to the next message, or with `onHead` to the head. */
  addMarker(marker: string, onHead: boolean): void
}

/** The reason for which a verdict cannot be carried out, possibly known later. */
export type Inapplicable =
  NotApplicableReason | undefined | Promise<NotApplicableReason | undefined>
