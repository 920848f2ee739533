import type { Call } from '../../../mcp/call.ts'
import type { CallRun } from '../call-run.ts'
import { Stop } from '../chain/stop.ts'

/** A request that faults may keep from the upstream, and calls of which a client may give up meanwhile. */
export class HeldRequest {
  /** Stops the faults of the whole exchange. */
  readonly stop = new Stop()
  /** Its faults have been asked. */
  begun = false
  /** The upstream has the request, or what is left of it. */
  sent = false
  #going: Promise<void> | undefined
  #gone: () => void = () => undefined
  /** One for each call, where several share the exchange. */
  readonly #stops: readonly Stop[]
  #waiting = false
  #until: Promise<void> | undefined
  #wasKept = false

  constructor(calls: number) {
    this.#stops = calls > 1 ? Array.from({ length: calls }, () => new Stop()) : []
  }

  /** Settled when the upstream has the request, or never gets it; undefined where it has it. */
  get going(): Promise<void> | undefined {
    if (this.sent) return undefined
    this.#going ??= new Promise((resolve) => (this.#gone = resolve))
    return this.#going
  }

  /** The request goes to the upstream now. */
  forwarded(): void {
    this.sent = true
    this.#gone()
    this.#going = undefined
  }

  /** Returns what stops the faults of the call at a place. */
  stopOf(place: number): Stop {
    return this.#stops[place] ?? this.stop
  }

  /** The client repeats the request: the upstream has not got this one. */
  repeated(): void {
    this.sent = false
    this.begun = false
  }

  /** The exchange is over: what has not been sent never is. */
  end(): void {
    this.#gone()
    this.#going = Promise.resolve()
    this.abort()
  }

  /** No fault acts from here on. */
  abort(): void {
    this.stop.abort()
    for (const stop of this.#stops) stop.abort()
  }

  /** True as long as a call that is given up need not be sent. */
  waits(runs: readonly CallRun[]): boolean {
    return !this.sent && (!this.begun || this.#waiting || runs.some(({ waits }) => waits))
  }

  /** The client has given a call up: it is not sent. */
  abandon(calls: readonly CallRun[], call: Call): void {
    const run = calls.find((each) => each.call === call)
    if (run === undefined) return
    run.givenUp = true
    run.stop.abort()
    if (calls.every(({ givenUp }) => givenUp)) this.abort()
  }

  /** The request is not sent before this is settled. */
  suspend(runs: readonly CallRun[], until: Promise<void>): void {
    this.#wasKept = this.keptBy(runs)
    this.#until = until
  }

  /** Resolves when the request may be sent. */
  async ready(): Promise<void> {
    this.#waiting = true
    await this.#until
    this.#waiting = false
  }

  /** True while a fault keeps the request, or did when it was suspended: what ends meanwhile ends by that. */
  keptBy(runs: readonly CallRun[]): boolean {
    return !this.sent && (this.#wasKept || runs.some(({ origin }) => origin === 'injected'))
  }
}
