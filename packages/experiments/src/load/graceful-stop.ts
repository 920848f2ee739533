import { setMaxListeners } from 'node:events'

/** Signals that end a load early. */
export interface StopSignals {
  /** Stops new tasks. */
  readonly stop?: AbortSignal | undefined
  /** Cuts calls that are in flight. */
  readonly cut?: AbortSignal | undefined
}

/** Ends a load in two steps: new tasks stop, and later in-flight calls are cut. */
export class GracefulStop {
  readonly stop: AbortSignal
  readonly #cut = new AbortController()
  /** Aborted when in-flight calls are cut. */
  readonly cut: AbortSignal = this.#cut.signal
  readonly #limitMs: number | undefined
  readonly #signals: StopSignals
  #endsAt = Infinity
  #cutAt = Infinity
  #timer: NodeJS.Timeout | undefined

  /** Without a limit, in-flight calls run until their own timeout. */
  constructor(limitMs: number | undefined, signals: StopSignals) {
    this.#limitMs = limitMs
    this.#signals = signals
    this.stop = signals.stop ?? new AbortController().signal
    // Each call in flight adds a listener.
    setMaxListeners(0, this.stop, this.#cut.signal)
  }

  /** Starts the time in which tasks may begin. */
  begin(durationMs: number | undefined): void {
    if (durationMs !== undefined) this.#endIn(durationMs)
    this.#when(this.stop, this.#onStop)
    this.#when(this.#signals.cut, this.#onCut)
  }

  /** Returns the remaining wait for in-flight calls; undefined while tasks still begin. */
  waitsMs(): number | undefined {
    const now = performance.now()
    return now < this.#endsAt ? undefined : Math.max(0, this.#cutAt - now)
  }

  /** Releases timers and listeners. */
  release(): void {
    clearTimeout(this.#timer)
    this.stop.removeEventListener('abort', this.#onStop)
    this.#signals.cut?.removeEventListener('abort', this.#onCut)
  }

  readonly #onStop = (): void => this.#endIn(0)
  readonly #onCut = (): void => this.#cut.abort()

  #when(signal: AbortSignal | undefined, then: () => void): void {
    if (signal?.aborted === true) then()
    else signal?.addEventListener('abort', then, { once: true })
  }

  #endIn(ms: number): void {
    const endsAt = performance.now() + ms
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    if (this.#limitMs === undefined) return
    this.#cutAt = endsAt + this.#limitMs
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onCut, ms + this.#limitMs)
  }
}
