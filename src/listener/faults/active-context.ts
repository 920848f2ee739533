import { digest } from '../../base/digest.ts'
import { nextLoop } from '../../base/event-loop.ts'
import type { CacheBudget } from '../../base/byte-budget.ts'
import type { FaultHost } from '../../filters/fault.ts'
import { callerText } from '../../http/caller-identity.ts'
import { type ResponseHead, headerValue, headerValues } from '../../http/headers.ts'
import type { Call, ClientInfo } from '../../mcp/call.ts'
import type { MatchedRule } from '../../rules/select/matched-rule.ts'
import type { CallProgress } from './call-state.ts'
import { interruptibleWait } from './chain/stop.ts'
import type { FaultOrigin, FaultRef, NotApplicableReason } from './exchange-context.ts'

/**
 * Shows one fault the call on which it acts. A class, because an object literal with getters costs
 * a hidden class each time, which keeps all that the getters use until the next major garbage
 * collection.
 */
class CallView {
  readonly owner: CallProgress
  /**
   * Aborted when the rule is withdrawn. Read once: a rule that becomes active again gets another
   * signal.
   */
  readonly withdrawn: AbortSignal
  protected readonly matched: MatchedRule

  constructor(matched: MatchedRule, owner: CallProgress) {
    this.owner = owner
    this.matched = matched
    this.withdrawn = matched.retired
  }

  get call(): Call | undefined {
    return this.owner.call
  }

  get session(): string | undefined {
    return this.owner.context.facts.session
  }

  get client(): ClientInfo | undefined {
    return this.owner.context.facts.client
  }

  get caller(): string | undefined {
    const text = callerText(this.owner.context.exchange.head, this.session)
    return text === undefined ? undefined : digest(text)
  }

  get response(): ResponseHead | undefined {
    return this.owner.response
  }

  get requestBytes(): number {
    return this.owner.context.exchange.requestBytes
  }

  get marked(): boolean {
    return this.matched.rule.marker
  }

  get group(): object {
    return this.owner.context.group ?? this.owner
  }

  header(name: string): string | undefined {
    return headerValue(this.owner.context.facts.headers, name)
  }

  headers(name: string): readonly string[] {
    return headerValues(this.owner.context.facts.headers, name)
  }
}

/** Offers one fault what it needs beside its call: memory, time, chance and the listener. */
export class ActiveContext extends CallView {
  protected readonly ref: FaultRef
  readonly #index: number
  #random: (() => number) | undefined

  /** `index` is the position of the fault in its rule. */
  constructor(matched: MatchedRule, index: number, owner: CallProgress) {
    super(matched, owner)
    const { name, uses } = matched.rule
    this.ref = { rule: name, fault: uses[index]!.fault, call: owner.call }
    this.#index = index
  }

  get host(): FaultHost {
    const { control } = this.owner.context
    return control.hostFor(this.origin, () => this.matched.endsIn(this.now()))
  }

  get task(): object | undefined {
    return this.owner.context.exchange.taskOf?.(this.call)
  }

  outputSchema(): unknown {
    return this.owner.context.control.outputSchemaOf(this.call)
  }

  protected get origin(): FaultOrigin {
    return { ref: this.ref, marked: this.marked, retired: this.withdrawn }
  }

  get now(): () => number {
    return this.owner.context.parts.now
  }

  get cacheBudget(): CacheBudget {
    return this.owner.context.parts.memory.cacheBudget
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

  memory<Memory>(make: () => Memory): Memory {
    return this.matched.memory(this.#index, make)
  }

  reserve(bytes: number): NotApplicableReason | undefined {
    const { isElsewhere, context, memory } = this.owner
    // The observer of a stream that calls share would not see the end of the call.
    if (isElsewhere && bytes > context.parts.maxBody) return 'too_large'
    return memory.reserve(bytes) ? undefined : 'memory'
  }

  retired(): Promise<void> {
    return interruptibleWait(Infinity, this.withdrawn, this.owner.stop).catch(() => undefined)
  }
}
