import {
  CONTINUE,
  type Fault,
  type FaultContext,
  type Overtaking,
  type Verdict,
} from '../../../filters/fault.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { MatchedRule } from '../../../rules/select/matched-rule.ts'
import { isOther } from '../../../mcp/call.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { ActiveContext, type ActiveFaultOwner, type Inapplicable } from './active-context.ts'
import { faultMarker } from '../emit/injected-response.ts'
import { FaultStopped, interruptibleWait } from './stop.ts'

/** Runs one fault of a matched rule on one call: provides its context and counts its effects. */
export class ActiveFault extends ActiveContext {
  readonly fault: Fault
  /** True when the fault was asked: without an effect it counts as not applicable. */
  asked = false
  /** True while the fault acts on the response as HTTP: only a head can carry its marker. */
  inOutput = false
  /** The message of the response that the fault took last. */
  taken: Message | undefined
  #acting = false
  /** True while the fault holds or changes a message; pending copies do neither. */
  #holds = false
  #asleep = 0
  #acted: boolean
  #actedHere = false
  #finished = false
  #claims: (string | undefined)[] | undefined
  /** The start of the first sleep, if earlier than the call of `sleep`. */
  #since: number | undefined

  /** `acted` is true when the same fault took effect on the call before a restart. */
  constructor(matched: MatchedRule, index: number, owner: ActiveFaultOwner, acted = false) {
    super(matched, index, owner)
    this.#acted = acted
    this.fault = matched.rule.faults[index]!
  }

  /** True for a fault that acts on the response as HTTP. */
  get transformsOutput(): boolean {
    return this.fault.onOutput !== undefined
  }

  /** True for a fault that acts on the messages of the response. */
  get readsResponse(): boolean {
    return this.fault.beforeResponse !== undefined || this.fault.onResponse !== undefined
  }

  /** The hook that acts before the receiver gets the call or message; undefined without one. */
  get requestHook(): 'onRequest' | 'onMessage' | undefined {
    const { fault, owner } = this
    if (isOther(owner.call) && fault.onMessage !== undefined) return 'onMessage'
    return fault.onRequest === undefined ? undefined : 'onRequest'
  }

  /** True while the fault sleeps. */
  get waits(): boolean {
    return this.#asleep > 0
  }

  get acted(): boolean {
    return this.#acted
  }

  /** True once the fault has replaced a part of the request or response. */
  get changed(): boolean {
    return this.fault.changes === true && (this.#actedHere || this.#acting)
  }

  /** The marker on the wire; undefined when the rule disables markers. */
  get wireMarker(): string | undefined {
    return this.marked ? faultMarker(this.ref.rule, this.ref.fault) : undefined
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
      if (!this.#acting) this.injected()
      const checked = checkVerdict(verdict)
      const reason = checked instanceof Promise ? await checked : checked
      if (reason === undefined) {
        // Copies are sent after the call, which another fault may still hold.
        if (verdict.kind === 'copies') this.#letGo()
        else this.#commit(undefined)
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
    const { control } = this.owner.exchangeContext
    if (verdict.kind === 'respond' && verdict.endsSession === true) {
      control.expireSession(this.origin)
    } else if (verdict.kind === 'reset' && verdict.refuse !== undefined) {
      control.refuseConnections(verdict.refuse, this.origin)
    }
  }

  /** Waits until the rule is withdrawn; rejects when the exchange ends before. */
  async hang(): Promise<void> {
    this.#asleep++
    this.owner.onWait()
    try {
      await interruptibleWait(Infinity, this.withdrawn, this.owner.stop)
    } finally {
      this.#asleep--
      this.settle()
    }
  }

  /**
   * Records the announced effects as done. Returns true when the fault was acting and has finished.
   */
  settle(): boolean {
    const acted = this.#acting
    if (this.#claims !== undefined) this.#commit(undefined)
    // A sleeping fault is still acting.
    if (this.#asleep > 0) return false
    this.#end()
    return acted
  }

  /** Records the announced effects while the fault continues to act. */
  commitClaims(): void {
    if (this.#claims !== undefined) this.#commit(undefined)
  }

  /** Withdraws the announced effects, which cannot be carried out. */
  revoke(reason: NotApplicableReason): void {
    this.#claims = undefined
    this.#end()
    this.cannot(reason)
  }

  /** Reports that the fault cannot act on this call. */
  cannot(reason: NotApplicableReason): void {
    if (this.#finished || this.#acted) return
    // An announced effect does not take place.
    this.#claims = undefined
    this.#end()
    this.#finished = true
    this.matched.notApplicable()
    this.owner.listener.notApplicable({ ...this.ref, reason })
  }

  /** Disables a fault that threw; its messages continue unchanged. */
  failed(error: unknown): void {
    this.#claims = undefined
    this.#end()
    if (!(error instanceof FaultStopped)) {
      this.owner.listener.failed(this.ref, error)
      this.cannot('failed')
    }
    this.#finished = true
  }

  /** Disables a fault that is replaced after a restart. */
  drop(): void {
    this.settle()
    this.#finished = true
  }

  /** Ends the fault with the exchange. */
  close(): void {
    this.settle()
    if (this.asked) this.cannot('nothing_to_act_on')
    this.#finished = true
  }

  /** Records that the fault leaves the call alone on purpose. */
  withinLimit(): void {
    this.#finished = true
    this.matched.withinLimit()
  }

  /** Announces an effect; throws when the fault may not act. */
  injected(effect?: string): void {
    if (this.#finished || this.withdrawn.aborted || this.owner.stop.aborted)
      throw new FaultStopped()
    this.#begin()
    this.#claims ??= []
    this.#claims.push(effect)
  }

  #begin(): void {
    if (this.#acting) return
    if (!this.matched.begin()) {
      this.#finished = true
      throw new FaultStopped()
    }
    this.#acting = true
    this.#holds = true
    this.owner.fate.hold()
  }

  /** Waits, and records the announced effects as a delay of this time. */
  async sleep(ms: number): Promise<void> {
    const due = (this.#since ?? performance.now()) + ms
    this.#since = undefined
    if (this.#claims !== undefined) this.#commit(ms)
    // A fault that sleeps after an effect continues to act.
    else if (this.#acted && !this.withdrawn.aborted) this.#begin()
    this.#asleep++
    this.owner.onWait()
    try {
      // Recording the effect took a part of the time.
      await interruptibleWait(due - performance.now(), this.withdrawn, this.owner.stop)
    } finally {
      this.#asleep--
    }
  }

  /** Waits for the next message on the stream of a message of the server. */
  async overtaken(): Promise<Overtaking> {
    const { position } = this.owner
    if (position === undefined) return 'last'
    if (position.overtakes) return 'overtakes'
    this.#asleep++
    this.owner.onWait()
    try {
      const ended = position.wait()
      // Rejects when the wait ends; resolves when the rule is withdrawn.
      return await interruptibleWait(Infinity, this.withdrawn, ended).then(
        () => 'last',
        () => (position.isOvertaken ? 'overtaken' : 'last'),
      )
    } finally {
      this.#asleep--
    }
  }

  #commit(delayMs: number | undefined): void {
    const claims = this.#claims ?? []
    this.#claims = undefined
    this.owner.onEffect(this.taken)
    for (const effect of claims) {
      const first = !this.#acted
      this.#acted = true
      this.#actedHere = true
      this.matched.applied()
      const marker = this.wireMarker
      if (marker !== undefined) this.owner.addMarker(marker, this.inOutput)
      const { rule, fault, call } = this.ref
      this.owner.listener.injected({ rule, fault, call, effect, delayMs, first })
    }
  }

  #end(): void {
    if (!this.#acting) return
    this.#acting = false
    this.#letGo()
    this.matched.end()
  }

  #letGo(): void {
    if (!this.#holds) return
    this.#holds = false
    this.owner.fate.letGo()
  }
}
