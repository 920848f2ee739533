import { setMaxListeners } from 'node:events'

/** Ends a load before its time. */
export interface StopSignals {
  /** No further tasks begin. */
  readonly stop?: AbortSignal | undefined
  /** Cuts calls that are in flight. */
  readonly cut?: AbortSignal | undefined
}

/** Ends a load in two steps: no further tasks begin, and later what is still under way is cut. */
export class GracefulStop {
  /** No further tasks begin once this is aborted. */
  readonly stop: AbortSignal
  readonly #cut = new AbortController()
  readonly #limitMs: number | undefined
  readonly #signals: StopSignals
  #endsAt = Infinity
  #cutAt = Infinity
  #timer: NodeJS.Timeout | undefined

  /** Without a limit what is under way is waited for until its own time is over. */
  constructor(limitMs: number | undefined, signals: StopSignals) {
    this.#limitMs = limitMs
    this.#signals = signals
    this.stop = signals.stop ?? new AbortController().signal
    // Each call under way listens to one of them.
    setMaxListeners(0, this.stop, this.#cut.signal)
  }

  /** Aborting this gives up the calls that are in flight. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** The first task begins now, and the last one within this time. */
  begin(durationMs: number | undefined): void {
    if (durationMs !== undefined) this.#endIn(durationMs)
    this.#when(this.stop, this.#onStop)
    this.#when(this.#signals.cut, this.#onCut)
  }

  /** Returns the remaining wait for calls in flight; undefined while further tasks begin. */
  waitsMs(): number | undefined {
    const now = performance.now()
    return now < this.#endsAt ? undefined : Math.max(0, this.#cutAt - now)
  }

  /** Forgets timers and signals; to be called at the end. */
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
