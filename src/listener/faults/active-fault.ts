import {
  CONTINUE,
  type Fault,
  type FaultContext,
  type Overtaking,
  type Verdict,
  type FaultHost,
} from '../../filters/fault.ts'
import { clearTask } from '../../agents/task.ts'
import { isOther, toolOf, type Call, type ClientInfo } from '../../mcp/call.ts'
import type { MatchedRule } from '../../rules/select/matched-rule.ts'
import { type CallProgress, addMarker } from './call-state.ts'
import { interruptibleWait, FaultStopped } from './chain/stop.ts'
import type { NotApplicableReason, FaultOrigin, FaultRef } from './exchange-context.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { type OpenCall, sideFaultsOf } from '../side-faults.ts'
import { faultMarker } from './emit/injected-response.ts'
import { digest } from '../../base/digest.ts'
import { nextLoop } from '../../base/event-loop.ts'
import type { CacheBudget } from '../../base/byte-budget.ts'
import { callerText } from '../../http/caller-identity.ts'
import { type ResponseHead, headerValue, headerValues } from '../../http/headers.ts'

/**
 * Shows one fault the call on which it acts. A class, because an object literal with getters costs
 * a hidden class each time, which keeps all that the getters use until the next major garbage
 * collection.
 */
class CallView {
  readonly owner: CallProgress
  readonly call: Call | undefined
  readonly session: string | undefined
  readonly client: ClientInfo | undefined
  readonly requestBytes: number
  readonly group: object
  /**
   * Aborted when the rule is withdrawn. Read once: a rule that becomes active again gets another
   * signal.
   */
  withdrawn: AbortSignal
  readonly marked: boolean
  protected readonly matched: MatchedRule

  constructor(matched: MatchedRule, owner: CallProgress) {
    const { facts, exchange, group = owner } = owner.context
    this.owner = owner
    this.call = owner.call
    this.session = facts.session
    this.client = facts.client
    this.requestBytes = exchange.requestBytes
    this.group = group
    this.matched = matched
    this.withdrawn = matched.state.faults.retired
    this.marked = matched.rule.marker
  }

  get caller(): string | undefined {
    const text = callerText(this.owner.context.exchange.head, this.session)
    return text === undefined ? undefined : digest(text)
  }

  get response(): ResponseHead | undefined {
    return this.owner.response
  }

  header(name: string): string | undefined {
    return headerValue(this.owner.context.facts.headers, name)
  }

  headers(name: string): readonly string[] {
    return headerValues(this.owner.context.facts.headers, name)
  }
}

/** Offers one fault what it needs beside its call: memory, time, chance and the listener. */
class ActiveContext extends CallView {
  readonly now: () => number
  readonly cacheBudget: CacheBudget
  readonly nextLoop = nextLoop
  protected readonly ref: FaultRef
  readonly #index: number
  #random: (() => number) | undefined

  /** `index` is the position of the fault in its rule. */
  constructor(matched: MatchedRule, index: number, owner: CallProgress) {
    super(matched, owner)
    const { name, uses } = matched.rule
    const { now, memory } = owner.context.parts
    this.now = now
    this.cacheBudget = memory.cacheBudget
    this.ref = { rule: name, fault: uses[index]!.fault, call: owner.call }
    this.#index = index
  }

  get host(): FaultHost {
    const { control } = this.owner.context.parts
    return control.hostFor(this.origin, this.#entry, () => this.matched.endsIn(this.now()))
  }

  get task(): object | undefined {
    const { action } = this.#entry ?? {}
    return action && clearTask(action)
  }

  get #entry(): OpenCall | undefined {
    return this.owner.context.exchange.entries.find(({ call }) => call === this.call)
  }

  outputSchema(): unknown {
    return this.owner.context.parts.outputSchemaOf?.(toolOf(this.call))
  }

  protected get origin(): FaultOrigin {
    return { ref: this.ref, marked: this.marked, retired: this.withdrawn }
  }

  get signal(): AbortSignal {
    return this.owner.stop.signal
  }

  get random(): () => number {
    return (this.#random ??= this.matched.random(this.#index))
  }

  memory<Memory>(make: () => Memory): Memory {
    return this.matched.state.faults.memory(this.#index, make)
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

/**
 * Counts the effects of one fault on one call: each is announced, and then takes place, or does not
 * for a reason.
 */
class FaultEffects extends ActiveContext {
  /** True when the fault was asked: without an effect it counts as not applicable. */
  asked = false
  /** True when the fault took effect on the call. */
  acted = false
  /** True while the fault acts on the response as HTTP: only a head can carry its marker. */
  inOutput = false
  /** The message of the response that the fault took last. */
  taken: Message | undefined
  /** From its first announcement until the fault has finished. */
  protected acting = false
  protected actedHere = false
  protected finished = false
  protected asleep = 0
  /** True while the fault holds or changes a message; pending copies do neither. */
  #holds = false
  #claims: (string | undefined)[] | undefined
  /** True while the marker is for the message after the next one. */
  #isLate = false

  /** The marker on the wire; undefined when the rule disables markers. */
  get wireMarker(): string | undefined {
    return this.marked ? faultMarker(this.ref.rule, this.ref.fault) : undefined
  }

  /** Announces an effect; throws when the fault may not act. */
  injected(effect?: string, isLate = false): void {
    if (this.finished || this.withdrawn.aborted || this.owner.stop.aborted) throw new FaultStopped()
    this.begin()
    this.#claims ??= []
    this.#claims.push(effect)
    this.#isLate = isLate
  }

  /**
   * Records the announced effects as done. Returns true when the fault was acting and has finished.
   */
  settle(): boolean {
    const acted = this.acting
    this.commitClaims()
    // A sleeping fault is still acting.
    if (this.asleep > 0) return false
    this.#end()
    return acted
  }

  /**
   * Records the announced effects while the fault continues to act; returns false without any.
   * `delayMs` is the intended delay, if they are one.
   */
  commitClaims(delayMs?: number): boolean {
    const claims = this.#claims
    if (claims === undefined) {
      if (this.#isLate) this.#mark()
      return false
    }
    this.#claims = undefined
    const { owner, ref, taken } = this
    const { listener, exchange } = owner.context
    for (const each of owner.sideFaults) each.by(owner.call!)
    if (taken?.kind === 'notification' || taken?.kind === 'request') {
      for (const each of sideFaultsOf(exchange.entries, owner.call)) each.by(taken)
    }
    for (const effect of claims) {
      const first = !this.acted
      this.acted = true
      this.actedHere = true
      this.matched.applied()
      if (!this.#isLate) this.#mark()
      const { rule, fault, call } = ref
      listener.injected({ rule, fault, call, effect, delayMs, first })
    }
    return true
  }

  #mark(): void {
    this.#isLate = false
    const marker = this.wireMarker
    if (marker !== undefined) addMarker(this.owner, marker, this.inOutput)
  }

  /** Withdraws the announced effects, which cannot be carried out. */
  revoke(reason: NotApplicableReason): void {
    this.#claims = undefined
    this.#end()
    this.cannot(reason)
  }

  /** Reports that the fault cannot act on this call: an announced effect does not take place. */
  cannot(reason: NotApplicableReason): void {
    if (this.finished || this.acted) return
    this.#claims = undefined
    this.#end()
    this.finished = true
    this.matched.notApplicable()
    this.owner.context.listener.notApplicable({ ...this.ref, reason })
  }

  /** Disables a fault that threw; its messages continue unchanged. */
  failed(error: unknown): void {
    this.#claims = undefined
    this.#end()
    if (!(error instanceof FaultStopped)) {
      this.owner.context.listener.failed(this.ref, error)
      this.cannot('failed')
    }
    this.finished = true
  }

  /** Records that the fault leaves the call alone on purpose. */
  withinLimit(): void {
    this.finished = true
    this.matched.withinLimit()
  }

  protected begin(): void {
    if (this.acting) return
    if (!this.matched.begin()) {
      this.finished = true
      throw new FaultStopped()
    }
    this.acting = true
    this.#holds = true
    this.owner.holders++
  }

  protected releaseHold(): void {
    if (!this.#holds) return
    this.#holds = false
    this.owner.holders--
  }

  #end(): void {
    if (!this.acting) return
    this.acting = false
    this.releaseHold()
    this.matched.end()
  }
}

/** The reason for which a verdict cannot be carried out, possibly known later. */
export type Inapplicable =
  NotApplicableReason | undefined | Promise<NotApplicableReason | undefined>

/** Runs one fault of a matched rule on one call. */
export class ActiveFault extends FaultEffects implements FaultContext {
  readonly fault: Fault
  /** True for a fault that acts on the response as HTTP. */
  readonly transformsOutput: boolean
  /** True for a fault that acts on the messages of the response. */
  readonly readsResponse: boolean
  /** The hook that acts before the receiver gets the call or message; undefined without one. */
  readonly requestHook: 'onRequest' | 'onMessage' | undefined
  /** The start of the first sleep, if earlier than the call of `sleep`. */
  #since: number | undefined

  /** `before` is the same fault before a restart of the call. */
  constructor(matched: MatchedRule, index: number, owner: CallProgress, before?: ActiveFault) {
    super(matched, index, owner)
    if (before !== undefined) {
      this.acted = before.acted
      this.withdrawn = before.withdrawn
    }
    const fault = (this.fault = matched.rule.faults[index]!)
    this.transformsOutput = fault.onOutput !== undefined
    this.readsResponse = fault.beforeResponse !== undefined || fault.onResponse !== undefined
    if (fault.onMessage !== undefined && isOther(owner.call)) this.requestHook = 'onMessage'
    else if (fault.onRequest !== undefined) this.requestHook = 'onRequest'
  }

  /** True while the fault sleeps. */
  get waits(): boolean {
    return this.asleep > 0
  }

  /** True once the fault has replaced a part of the request or response. */
  get changed(): boolean {
    return this.fault.changes === true && (this.actedHere || this.acting)
  }

  /**
   * Runs a hook and returns its verdict, unless `checkVerdict` gives a reason against it. The first
   * sleep counts from `since`.
   */
  async decide(
    hook: (context: FaultContext) => Verdict | Promise<Verdict>,
    checkVerdict: (verdict: Verdict) => Inapplicable,
    since?: number,
  ): Promise<Verdict> {
    this.asked = true
    this.#since = since
    try {
      const asked = hook(this)
      const verdict = asked instanceof Promise ? await asked : asked
      if (verdict.kind === 'continue') {
        this.settle()
        return CONTINUE
      }
      if (!this.acting) this.injected()
      const checked = checkVerdict(verdict)
      const reason = checked instanceof Promise ? await checked : checked
      if (reason === undefined) {
        // Copies are sent after the call, which another fault may still hold.
        if (verdict.kind === 'copies') this.releaseHold()
        else this.commitClaims()
        this.#actBeyondCall(verdict)
        return verdict
      }
      this.revoke(reason)
    } catch (error) {
      this.failed(error)
    }
    return CONTINUE
  }

  /** Starts the effects that a verdict has beyond its call. */
  #actBeyondCall(verdict: Verdict): void {
    if (verdict.kind === 'respond' && verdict.endsSession === true) {
      this.owner.context.parts.control.expireSession(this.session, this.origin)
    } else if (verdict.kind === 'reset' && verdict.refuse !== undefined) {
      this.host.refuseConnections(verdict.refuse)
    }
  }

  /** Waits until the rule is withdrawn; rejects when the exchange ends before. */
  async hang(): Promise<void> {
    try {
      await this.#wait(Infinity)
    } finally {
      this.settle()
    }
  }

  /** Waits, and records the announced effects as a delay of this time. */
  async sleep(ms: number): Promise<void> {
    const due = (this.#since ?? performance.now()) + ms
    this.#since = undefined
    // A fault that sleeps after an effect continues to act.
    if (!this.commitClaims(ms) && this.acted && !this.withdrawn.aborted) this.begin()
    // Recording the effect took a part of the time.
    await this.#wait(due)
  }

  /** Waits for the next message on the stream of a message of the server. */
  async overtaken(): Promise<Overtaking> {
    const { position } = this.owner
    if (position === undefined) return 'last'
    if (position.overtakes) return 'overtakes'
    position.behind.push(this.owner)
    // Rejects when the wait ends; resolves when the rule is withdrawn.
    return await this.#wait(Infinity, position.ended).then(
      () => 'last',
      () => (position.isOvertaken ? 'overtaken' : 'last'),
    )
  }

  /** Ends the fault with the exchange. */
  close(): void {
    this.settle()
    if (this.asked && !this.acted) this.cannot('nothing_to_act_on')
    this.finished = true
  }

  /** Disables a fault that is replaced after a restart. */
  drop(): void {
    this.settle()
    this.finished = true
  }

  /** Waits until `due` by `performance.now()`. */
  async #wait(due: number, stop = this.owner.stop): Promise<void> {
    this.asleep++
    this.owner.hasWaited = true
    this.owner.waiting?.()
    try {
      await interruptibleWait(due - performance.now(), this.withdrawn, stop)
    } finally {
      this.asleep--
    }
  }
}
