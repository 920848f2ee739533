interface HeldEvent {
  readonly raw: Uint8Array
  readonly owner: object | undefined
  /** Set while the event only waits for earlier ones. */
  go: (() => void) | undefined
}

/**
 * Keeps events with ids in the order of the upstream. A client that resumes a stream names the last
 * id that it saw: an event that was held until a later id was sent would never be repeated. Events
 * without ids, which HTTP+SSE has only, are not ordered; and streams with ids carry the responses
 * of one POST only.
 */
export class PushOrder {
  /** The bytes that wait for earlier events. */
  waiting = 0
  /** In order. */
  readonly #events = new Map<Uint8Array, HeldEvent>()

  /** True while an event with an id is held. */
  get holds(): boolean {
    return this.#events.size > 0
  }

  /** Adds an event that the chain of `owner` holds. */
  hold(raw: Uint8Array, owner: object | undefined): void {
    this.#events.set(raw, { raw, owner, go: undefined })
  }

  /** Runs `go` for an event without a chain when the earlier events are sent. */
  follow(raw: Uint8Array, go: () => void): void {
    if (!this.holds) return go()
    this.hold(raw, undefined)
    this.#wait(this.#events.get(raw)!, go)
  }

  /** Resolves when the events before one that left its chain are sent. */
  wait(raw: Uint8Array): Promise<void> | undefined {
    const event = this.#events.get(raw)
    if (event === undefined || event === this.#first) return undefined
    return new Promise((resolve) => this.#wait(event, resolve))
  }

  /** Removes an event that was sent. */
  out(raw: Uint8Array): void {
    this.#leave(this.#events.get(raw))
    this.#advance()
  }

  /** Removes the events of an owner whose chain has ended. */
  forget(owner: object): void {
    for (const event of this.#events.values()) if (event.owner === owner) this.#leave(event)
    this.#advance()
  }

  get #first(): HeldEvent | undefined {
    return this.#events.values().next().value
  }

  #wait(event: HeldEvent, go: () => void): void {
    event.go = go
    this.waiting += event.raw.length
  }

  #go(event: HeldEvent): (() => void) | undefined {
    const { go, raw } = event
    if (go !== undefined) this.waiting -= raw.length
    event.go = undefined
    return go
  }

  #leave(event: HeldEvent | undefined): void {
    if (event === undefined) return
    this.#go(event)
    this.#events.delete(event.raw)
  }

  /** Releases the first events that only wait for earlier ones. */
  #advance(): void {
    for (let first = this.#first; first !== undefined; first = this.#first) {
      const go = this.#go(first)
      if (go === undefined) return
      // An event of a chain is removed by `out`, the others here.
      if (first.owner === undefined) this.#leave(first)
      go()
      if (first.owner !== undefined) return
    }
  }
}
