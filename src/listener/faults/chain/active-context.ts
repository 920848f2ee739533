import { digest } from '../../../base/digest.ts'
import { KEEP_ALL, type Keeping } from '../../../base/room.ts'
import type { FaultContext, FaultHost, Overtaking } from '../../../filters/fault.ts'
import { callerText } from '../../../http/caller-identity.ts'
import { headerValue, headerValues, type ResponseHead } from '../../../http/headers.ts'
import type { Call, ClientInfo } from '../../../mcp/call.ts'
import type { MatchedRule } from '../../../rules/select/matched-rule.ts'
import { nextLoop } from '../../event-loop.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { ExchangeContext } from '../exchange-faults-options.ts'
import type { ActiveFault } from './active-fault.ts'
import { interruptibleWait } from './stop.ts'

/**
 * Shows one fault the call on which it acts. A class, because an object literal with getters costs a hidden
 * class each time, which keeps all that the getters use until the next major garbage collection.
 */
export class ActiveContext implements FaultContext {
  readonly #active: ActiveFault
  readonly #matched: MatchedRule
  readonly #index: number
  readonly #exchange: ExchangeContext
  #random: (() => number) | undefined

  /** `index` is the position of the fault in its rule. */
  constructor(active: ActiveFault, matched: MatchedRule, index: number) {
    this.#active = active
    this.#matched = matched
    this.#index = index
    this.#exchange = active.owner.exchangeContext
  }

  get call(): Call | undefined {
    return this.#active.owner.call
  }

  get session(): string | undefined {
    return this.#exchange.facts.session
  }

  get client(): ClientInfo | undefined {
    return this.#exchange.facts.client
  }

  get caller(): string | undefined {
    const text = callerText(this.#exchange.request, this.#exchange.facts.session)
    return text === undefined ? undefined : digest(text)
  }

  get response(): ResponseHead | undefined {
    return this.#active.owner.response
  }

  get requestBytes(): number {
    return this.#exchange.requestBytes
  }

  get marked(): boolean {
    return this.#matched.rule.marker
  }

  get host(): FaultHost {
    const { control } = this.#exchange
    const { origin } = this.#active
    return {
      expireSession: () => control.expireSession(origin),
      refuseConnections: (ms) => control.refuseConnections(ms, origin),
      watchFor: (word) => control.watchFor(word),
    }
  }

  get now(): () => number {
    return this.#exchange.now
  }

  get keeping(): Keeping {
    return this.#exchange.keeping ?? KEEP_ALL
  }

  get signal(): AbortSignal {
    return this.#active.owner.stop.signal
  }

  get random(): () => number {
    return (this.#random ??= this.#matched.random(this.#index))
  }

  get turn(): () => Promise<void> {
    return nextLoop
  }

  header(name: string): string | undefined {
    return headerValue(this.#exchange.facts.headers, name)
  }

  headers(name: string): readonly string[] {
    return headerValues(this.#exchange.facts.headers, name)
  }

  means(name: string): boolean {
    return this.#matched.rule.match.names?.test(name) ?? true
  }

  memory<Memory>(make: () => Memory): Memory {
    return this.#matched.memory(this.#index, make)
  }

  reserve(bytes: number): NotApplicableReason | undefined {
    return this.#active.owner.reserve(bytes)
  }

  sleep(ms: number): Promise<void> {
    return this.#active.sleep(ms)
  }

  get group(): object {
    return this.#exchange.group ?? this.#active.owner
  }

  overtaken(): Promise<Overtaking> {
    return this.#active.overtaken()
  }

  retired(): Promise<void> {
    const { retired, owner } = this.#active
    return interruptibleWait(Infinity, retired, owner.stop).catch(() => undefined)
  }

  injected(effect?: string): void {
    this.#active.claim(effect)
  }

  spare(): void {
    this.#active.spare()
  }

  cannot(reason: NotApplicableReason): void {
    this.#active.notApplicable(reason)
  }
}
