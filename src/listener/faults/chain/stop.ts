import { TURN_OVER } from './turn-over.ts'

/**
 * That faults are to stop: what an AbortController is for, at a tenth of its price, as every exchange that
 * a rule hits has one. Only who asks for a signal gets one.
 */
export class Stop {
  /** Called when it comes. */
  readonly sleepers = new Set<() => void>()
  #aborted = false
  #controller: AbortController | undefined

  get aborted(): boolean {
    return this.#aborted
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort(TURN_OVER)
    return this.#controller.signal
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    for (const wake of this.sleepers) wake()
    this.#controller?.abort(TURN_OVER)
  }
}
