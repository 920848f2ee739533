import type { BoundAddress } from '../front/bind.ts'
import type { OutboundParts } from './outbound-connection.ts'
import { OutboundListener } from './outbound-listener.ts'
import type { OutboundRoute } from './target.ts'

/** Faults begin on open connections, and end, after at most this, in milliseconds. */
const REFRESH = 200

/** Runs the listeners for outgoing connections of a sidecar. */
export class OutboundListeners {
  readonly #parts: OutboundParts
  readonly #listeners: readonly OutboundListener[]
  #timer: NodeJS.Timeout | undefined

  constructor(routes: readonly OutboundRoute[], parts: OutboundParts) {
    this.#parts = parts
    this.#listeners = routes.map((route) => new OutboundListener(route, parts))
  }

  async listen(): Promise<readonly BoundAddress[]> {
    const bound: BoundAddress[] = []
    for (const listener of this.#listeners) bound.push(await listener.listen())
    if (this.#parts.faults !== undefined) {
      this.#timer = setInterval(() => this.#refresh(), REFRESH)
      this.#timer.unref()
      this.#refresh()
    }
    return bound
  }

  sweep(now: number): void {
    for (const listener of this.#listeners) listener.sweep(now)
  }

  /** Stops accepting; resolves when all connections have ended. */
  async drain(): Promise<void> {
    this.#refresh()
    await Promise.all(this.#listeners.map((listener) => listener.drain()))
  }

  close(): void {
    clearInterval(this.#timer)
    for (const listener of this.#listeners) listener.close()
  }

  #refresh(): void {
    const rules = this.#parts.faults?.active() ?? []
    for (const listener of this.#listeners) listener.refresh(rules)
  }
}
