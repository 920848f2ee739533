import {
  CONTINUE,
  type Fault,
  type FaultContext,
  type Overtaking,
  type Verdict,
} from '../../filters/fault.ts'
import { isOther } from '../../mcp/call.ts'
import type { MatchedRule } from '../../rules/select/matched-rule.ts'
import type { CallProgress } from './call-state.ts'
import { interruptibleWait } from './chain/stop.ts'
import type { NotApplicableReason } from './exchange-context.ts'
import { FaultEffects } from './fault-effects.ts'

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

  /** `acted` is true when the same fault took effect on the call before a restart. */
  constructor(matched: MatchedRule, index: number, owner: CallProgress, acted = false) {
    super(matched, index, owner)
    this.acted = acted
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
      this.owner.context.control.expireSession(this.origin)
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
