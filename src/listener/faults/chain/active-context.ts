import { digest } from '../../../base/digest.ts'
import { KEEP_ALL, type Keeping } from '../../../base/room.ts'
import type { FaultContext, FaultHost, Overtaking } from '../../../filters/fault.ts'
import { callerText } from '../../../http/caller-identity.ts'
import { headerValue, headerValues, type ResponseHead } from '../../../http/headers.ts'
import type { Call, ClientInfo } from '../../../mcp/call.ts'
import type { MatchedRule } from '../../../rules/select/matched-rule.ts'
import { nextLoop } from '../../event-loop.ts'
import type { FaultOrigin } from '../exchange-context.ts'
import type { FaultRef, NotApplicableReason } from '../fault-events.ts'
import type { ActiveFaultOwner } from './fault-owner.ts'
import { interruptibleWait } from './stop.ts'

/**
 * Shows one fault the call on which it acts; its effects are added by `ActiveFault`. A class, because an object
 * literal with getters costs a hidden class each time, which keeps all that the getters use until the next
 * major garbage collection.
 */
export abstract class ActiveContext implements FaultContext {
  readonly owner: ActiveFaultOwner
  /** Aborted when the rule is withdrawn. Read once: a rule that becomes active again gets another signal. */
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
    const origin: FaultOrigin = { ref: this.ref, marked: this.marked, retired: this.withdrawn }
    return {
      expireSession: () => control.expireSession(origin),
      refuseConnections: (ms) => control.refuseConnections(ms, origin),
      watchFor: (word) => control.watchFor(word),
    }
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

  get turn(): () => Promise<void> {
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

  means(name: string): boolean {
    return this.matched.rule.match.names?.test(name) ?? true
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
