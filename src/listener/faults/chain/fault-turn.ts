import type { Call } from '../../../mcp/call.ts'
import { CONTINUE, type Fault, type FaultContext, type Verdict } from '../../../filters/fault.ts'
import { digest } from '../../../base/digest.ts'
import { callerText } from '../../../http/caller-identity.ts'
import { headerValue, headerValues, type ResponseHead } from '../../../http/headers.ts'
import { KEEP_ALL, type Room } from '../../../base/room.ts'
import type { MatchedRule } from '../../../rules/select/matched-rule.ts'
import type { FaultListener, FaultPlace, NotApplicableReason } from '../fault-events.ts'
import type { Behalf, TurnSetting } from './turn-setting.ts'
import { faultMark } from '../emit/fault-marker.ts'
import { interruptibleWait } from './interruptible-wait.ts'
import { nextLoop } from '../../event-loop.ts'
import type { Stop } from './stop.ts'
import { TurnOver } from './turn-over.ts'

/** What a turn takes place in. */
export interface TurnHost {
  readonly call: Call | undefined
  readonly setting: TurnSetting
  /** Aborted when faults are to stop: the client is gone, the sidecar drains, or the exchange is over. */
  readonly stop: Stop
  /** The head of the app's response, once it is there and this call's alone. */
  readonly response: ResponseHead | undefined
  readonly listener: FaultListener
  /** Where what faults hold is counted. */
  readonly memory: Room
  /** A fault took effect: what is sent next carries the mark, or the head where `onHead` says so. */
  marker(marker: string, onHead: boolean): void
}

/** Why something cannot be done, once that is known. */
export type Unfit = NotApplicableReason | undefined | Promise<NotApplicableReason | undefined>

/** One fault of one hit, for one call: gives it its context and keeps count of what it does. */
export class FaultTurn {
  readonly fault: Fault
  readonly marker: string
  readonly context: FaultContext
  /** The fault has had its turn: when it never acts from here on, it was not applicable. */
  heard = false
  /** The fault acts on the response as HTTP: only a head can carry its mark. */
  inOutput = false
  readonly #hit: MatchedRule
  readonly #host: TurnHost
  readonly #place: FaultPlace
  /** Taken at once: a rule that comes back into force gets another. */
  readonly #retired: AbortSignal
  #acting = false
  #copies = false
  #asleep = 0
  #acted: boolean
  #actedHere = false
  #out = false
  #claims: (string | undefined)[] = []
  /** From when on its first sleep is counted, if not from its beginning. */
  #since: number | undefined

  /** `acted` says that an earlier turn of the same fault took effect on the call. */
  constructor(hit: MatchedRule, index: number, host: TurnHost, acted = false) {
    this.#acted = acted
    this.#hit = hit
    this.#host = host
    this.#retired = hit.retired
    this.fault = hit.rule.faults[index]!
    const { call, setting } = host
    this.#place = { rule: hit.rule.name, fault: hit.rule.uses[index]!.fault, call }
    this.marker = faultMark(this.#place.rule, this.#place.fault)
    this.context = {
      call,
      session: setting.facts.session,
      client: setting.facts.client,
      header: (name) => headerValue(setting.facts.headers, name),
      headers: (name) => headerValues(setting.facts.headers, name),
      get caller() {
        const text = callerText(setting.request, setting.facts.session)
        return text === undefined ? undefined : digest(text)
      },
      get response() {
        return host.response
      },
      requestBytes: setting.requestBytes,
      means: (name) => hit.rule.match.names?.test(name) ?? true,
      marked: hit.rule.marker,
      host: {
        expireSession: () => setting.host.expireSession(this.#behalf),
        refuseConnections: (ms) => setting.host.refuseConnections(ms, this.#behalf),
      },
      now: setting.now,
      memory: (make) => hit.memory(index, make),
      keeping: setting.keeping ?? KEEP_ALL,
      get signal() {
        return host.stop.signal
      },
      random: hit.random(index),
      sleep: (ms) => this.#sleep(ms),
      turn: nextLoop,
      retired: () => interruptibleWait(Infinity, this.#retired, host.stop).catch(() => undefined),
      injected: (effect) => this.#claim(effect),
      spare: () => this.#spare(),
      cannot: (reason) => this.notApplicable(reason),
    }
  }

  get memory(): Room {
    return this.#host.memory
  }

  get #behalf(): Behalf {
    return { place: this.#place, marked: this.#hit.rule.marker, retired: this.#retired }
  }

  /** True while the fault holds something back or changes it. Copies that are due do neither. */
  get acting(): boolean {
    return this.#acting && !this.#copies
  }

  /** True while the fault lets time pass. */
  get waits(): boolean {
    return this.#asleep > 0
  }

  /** True once the fault took effect. */
  get acted(): boolean {
    return this.#acted
  }

  /** True once the fault has put something else in the place of what the call asks or brings. */
  get changed(): boolean {
    return this.fault.changes === true && (this.#actedHere || this.#acting)
  }

  /** What the fault puts on the wire to tell of itself; undefined when it is to leave no trace. */
  get wireMark(): string | undefined {
    return this.context.marked ? this.marker : undefined
  }

  /** Aborted when the rule is taken back. */
  get retired(): AbortSignal {
    return this.#retired
  }

  /**
   * Asks a fault for its verdict; `unfit` tells why a verdict cannot be carried out here. Where it sleeps
   * first of all, its sleep began at `since`.
   */
  async decide(
    hook: (context: FaultContext) => Verdict | Promise<Verdict>,
    unfit: (verdict: Verdict) => Unfit,
    since?: number,
  ): Promise<Verdict> {
    this.heard = true
    this.#since = since
    try {
      const verdict = await hook(this.context)
      if (verdict.kind === 'continue') {
        this.settle()
        return CONTINUE
      }
      if (!this.#acting) this.#claim(undefined)
      const reason = await unfit(verdict)
      if (reason === undefined) {
        // Copies go out after the call itself, which another fault may yet keep back.
        if (verdict.kind === 'copies') this.#copies = true
        else this.#commit(undefined)
        if (verdict.kind === 'reset' && verdict.refuse !== undefined) {
          this.context.host.refuseConnections(verdict.refuse)
        }
        return verdict
      }
      this.revoke(reason)
    } catch (error) {
      this.failed(error)
    }
    return CONTINUE
  }

  /** Silence, until the rule is taken back; rejects when the exchange is over before. */
  async hang(): Promise<void> {
    this.#asleep++
    try {
      await interruptibleWait(Infinity, this.#retired, this.#host.stop)
    } finally {
      this.#asleep--
      this.settle()
    }
  }

  /** What the fault said that it does has been done. True when there was anything, and it is over. */
  settle(): boolean {
    const acted = this.#acting
    if (this.#claims.length > 0) this.#commit(undefined)
    // It may take in more while it waits, and give signs of life: it is at it all the same.
    if (this.#asleep > 0) return false
    this.#end()
    return acted
  }

  /** What the fault said that it does is being done. */
  tell(): void {
    if (this.#claims.length > 0) this.#commit(undefined)
  }

  /** What the fault meant to do cannot be done here. */
  revoke(reason: NotApplicableReason): void {
    this.#claims = []
    this.#end()
    this.notApplicable(reason)
  }

  /** The fault cannot act on this call. */
  notApplicable(reason: NotApplicableReason): void {
    if (this.#out || this.#acted) return
    this.#out = true
    this.#hit.notApplicable()
    this.#host.listener.notApplicable({ ...this.#place, reason })
  }

  /** The fault threw. It has no further say, and its traffic goes on. */
  failed(error: unknown): void {
    this.#claims = []
    this.#end()
    if (!(error instanceof TurnOver)) {
      this.#host.listener.broke(this.#place, error)
      this.notApplicable('failed')
    }
    this.#out = true
  }

  /** Another turn takes the place of this one. */
  drop(): void {
    this.settle()
    this.#out = true
  }

  /** The exchange is over. */
  close(): void {
    this.settle()
    if (this.heard) this.notApplicable('nothing_to_act_on')
    this.#out = true
  }

  #spare(): void {
    this.#out = true
    this.#hit.spare()
  }

  #claim(effect: string | undefined): void {
    if (this.#out || this.#retired.aborted || this.#host.stop.aborted) throw new TurnOver()
    this.#begin()
    this.#claims.push(effect)
  }

  #begin(): void {
    if (this.#acting) return
    if (!this.#hit.begin()) {
      this.#out = true
      throw new TurnOver()
    }
    this.#acting = true
  }

  async #sleep(ms: number): Promise<void> {
    const due = (this.#since ?? performance.now()) + ms
    this.#since = undefined
    if (this.#claims.length > 0) this.#commit(ms)
    // What it did so far has been done, and now it does more of it.
    else if (this.#acted && !this.#retired.aborted) this.#begin()
    this.#asleep++
    try {
      // Telling of the fault took a part of the time.
      await interruptibleWait(due - performance.now(), this.#retired, this.#host.stop)
    } finally {
      this.#asleep--
    }
  }

  #commit(delayMs: number | undefined): void {
    const claims = this.#claims
    this.#claims = []
    for (const effect of claims) {
      const first = !this.#acted
      this.#acted = true
      this.#actedHere = true
      this.#hit.applied()
      if (this.context.marked) this.#host.marker(this.marker, this.inOutput)
      this.#host.listener.injected({ ...this.#place, effect, delayMs, first })
    }
  }

  #end(): void {
    if (!this.#acting) return
    this.#acting = false
    this.#hit.end()
  }
}
