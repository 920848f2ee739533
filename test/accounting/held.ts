import type { AppExchange } from '../support/wire.ts'

/** Exchanges that the upstream has begun and the test continues, in the order of arrival. */
export class Held {
  readonly #exchanges: AppExchange[] = []
  readonly #waiters = new Set<() => void>()

  push(exchange: AppExchange): void {
    this.#exchanges.push(exchange)
    for (const wake of this.#waiters) wake()
  }

  /** Resolves with an exchange as soon as it is there. */
  at(index: number): Promise<AppExchange> {
    return new Promise((resolve) => {
      const check = (): void => {
        const exchange = this.#exchanges[index]
        if (exchange === undefined) return
        this.#waiters.delete(check)
        resolve(exchange)
      }
      this.#waiters.add(check)
      check()
    })
  }
}
