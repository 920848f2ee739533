import { Fifo } from '../../../base/fifo.ts'

interface QueuedEvent {
  readonly raw: Uint8Array
  readonly owner: object | undefined
  /** Set while the event only waits for earlier ones. */
  go: (() => void) | undefined
  left: boolean
}

/**
 * Keeps events with ids in the order of the upstream. A client that resumes a stream names the last
 * id that it saw: an event that was held until a later id was sent would never be repeated. Events
 * without ids, which HTTP+SSE has only, are not ordered; and streams with ids carry the responses
 * of one POST only.
 */
export class PushOrder {
  /** In order; sent events are removed when they are first. */
  readonly #order = new Fifo<QueuedEvent>()
  readonly #events = new Map<Uint8Array, QueuedEvent>()
  #waiting = 0

  /** True while an event with an id is held. */
  get holds(): boolean {
    return this.#events.size > 0
  }

  /** The bytes that wait for earlier events. */
  get waiting(): number {
    return this.#waiting
  }

  /** Adds an event that the chain of `owner` holds. */
  hold(raw: Uint8Array, owner: object): void {
    this.#add({ raw, owner, go: undefined, left: false })
  }

  /** Runs `go` for an event without a chain when the earlier events are sent. */
  follow(raw: Uint8Array, go: () => void): void {
    if (!this.holds) return go()
    const event = { raw, owner: undefined, go: undefined, left: false }
    this.#add(event)
    this.#markWaiting(event, go)
  }

  /** Resolves when the events before one that left its chain are sent. */
  wait(raw: Uint8Array): Promise<void> | undefined {
    const event = this.#events.get(raw)
    if (event === undefined || event === this.#order.first) return undefined
    return new Promise((resolve) => this.#markWaiting(event, resolve))
  }

  /** Removes an event that was sent. */
  out(raw: Uint8Array): void {
    const event = this.#events.get(raw)
    if (event !== undefined) this.#leave(event)
    this.#advance()
  }

  /** Removes the events of an owner whose chain has ended. */
  forget(owner: object): void {
    for (const event of this.#events.values()) if (event.owner === owner) this.#leave(event)
    this.#advance()
  }

  #add(event: QueuedEvent): void {
    this.#order.push(event)
    this.#events.set(event.raw, event)
  }

  #markWaiting(event: QueuedEvent, go: () => void): void {
    event.go = go
    this.#waiting += event.raw.length
  }

  #takeGo(event: QueuedEvent): (() => void) | undefined {
    const { go } = event
    if (go !== undefined) this.#waiting -= event.raw.length
    event.go = undefined
    return go
  }

  #leave(event: QueuedEvent): void {
    this.#takeGo(event)
    event.left = true
    this.#events.delete(event.raw)
    while (this.#order.first?.left === true) this.#order.shift()
  }

  /** Releases the first events that only wait for earlier ones. */
  #advance(): void {
    for (let first = this.#order.first; first !== undefined; first = this.#order.first) {
      const go = this.#takeGo(first)
      if (go === undefined) return
      // An event of a chain is removed by `out`, the others here.
      if (first.owner === undefined) this.#leave(first)
      go()
      if (first.owner !== undefined) return
    }
  }
}
