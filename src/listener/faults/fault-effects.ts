import type { Message } from '../../mcp/json-rpc.ts'
import { ActiveContext } from './active-context.ts'
import { addMarker } from './call-state.ts'
import { FaultStopped } from './chain/stop.ts'
import { faultMarker } from './emit/injected-response.ts'
import type { NotApplicableReason } from './exchange-context.ts'

/**
 * Counts the effects of one fault on one call: each is announced, and then takes place, or does not
 * for a reason.
 */
export class FaultEffects extends ActiveContext {
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

  /** The marker on the wire; undefined when the rule disables markers. */
  get wireMarker(): string | undefined {
    return this.marked ? faultMarker(this.ref.rule, this.ref.fault) : undefined
  }

  /** Announces an effect; throws when the fault may not act. */
  injected(effect?: string): void {
    if (this.finished || this.withdrawn.aborted || this.owner.stop.aborted) throw new FaultStopped()
    this.begin()
    this.#claims ??= []
    this.#claims.push(effect)
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
    if (claims === undefined) return false
    this.#claims = undefined
    const { owner, ref, taken } = this
    const { listener, exchange } = owner.context
    for (const each of owner.sideFaults) each.by(owner.call!)
    if (taken?.kind === 'notification' || taken?.kind === 'request') {
      for (const each of exchange.sideFaultsOf?.(owner.call) ?? []) each.by(taken)
    }
    for (const effect of claims) {
      const first = !this.acted
      this.acted = true
      this.actedHere = true
      this.matched.applied()
      const marker = this.wireMarker
      if (marker !== undefined) addMarker(owner, marker, this.inOutput)
      const { rule, fault, call } = ref
      listener.injected({ rule, fault, call, effect, delayMs, first })
    }
    return true
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
