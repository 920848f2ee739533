/** Holds later requests until earlier ones have reached the upstream. */
export class SendBarrier {
  /** Resolves when all requests have reached the upstream, or never will. */
  readonly passed: Promise<unknown>
  readonly waiting = new Set<() => void>()
  isPassed = false

  constructor(requests: readonly Promise<unknown>[]) {
    this.passed = Promise.all(requests).then(() => this.#pass())
  }

  #pass(): void {
    this.isPassed = true
    for (const check of this.waiting) check()
  }
}
