/** What a lane tells its pool. */
export interface ConnectionEvents<L> {
  connected(): void
  disconnected(lane: L): void
}

/** A connection to the app, as a pool sees it. */
export interface PooledConnection {
  alive: boolean
  busy: boolean
  /** It was kept for as long as it may be. */
  isStale(now: number): boolean
  /** Ends the connection at once, whatever it is doing. */
  destroy(): void
}

/** What a pool works with. */
export interface ConnectionPoolOptions<L> {
  readonly open: (events: ConnectionEvents<L>) => L
  /** False when no further connection may be opened. */
  readonly mayOpen: () => boolean
  /** False ends each connection after one exchange. */
  readonly reuse: boolean
  readonly onConnections: (delta: number) => void
  readonly now: () => number
}

/**
 * Connections to one app. The one used last is used first, so that as few as possible idle towards
 * the app's own timeout.
 */
export class ConnectionPool<L extends PooledConnection> {
  readonly #options: ConnectionPoolOptions<L>
  readonly #idle: L[] = []
  readonly #lanes = new Set<L>()
  readonly #events: ConnectionEvents<L>
  #connected = 0

  constructor(options: ConnectionPoolOptions<L>) {
    this.#options = options
    this.#events = {
      connected: () => this.#count(1),
      disconnected: (ended) => {
        this.#count(-1)
        // A request that found its connection closing is not sent yet: undici opens a new one for it.
        if (!ended.busy) this.#retire(ended)
      },
    }
  }

  /** Connections that are open right now. */
  get connected(): number {
    return this.#connected
  }

  /** Connections that are open, or being opened. */
  get size(): number {
    return this.#lanes.size
  }

  /** Whether a lane is open and free. */
  get hasIdle(): boolean {
    return this.#idle.some((lane) => lane.alive)
  }

  /** A lane that is open and free, if there is one. */
  acquireIdle(): L | undefined {
    if (this.#idle.length === 0) return undefined
    const now = this.#options.now()
    for (let lane = this.#idle.pop(); lane !== undefined; lane = this.#idle.pop()) {
      if (!lane.alive) continue
      if (lane.isStale(now)) {
        this.discard(lane)
        continue
      }
      lane.busy = true
      return lane
    }
    return undefined
  }

  /** A free lane, or undefined when the bound is met. */
  acquire(): L | undefined {
    const idle = this.acquireIdle()
    if (idle !== undefined) return idle
    return this.#options.mayOpen() ? this.adopt(this.#options.open) : undefined
  }

  /** Takes in a lane that is opened in a way of its own, whatever the bound. */
  adopt(open: (events: ConnectionEvents<L>) => L): L {
    const lane = open(this.#events)
    lane.busy = true
    this.#lanes.add(lane)
    return lane
  }

  /** Gives a lane back after an exchange that left its connection in order. */
  release(lane: L): void {
    lane.busy = false
    if (this.#options.reuse) this.#idle.push(lane)
    else this.discard(lane)
  }

  /** Ends a lane whose connection cannot be used again. */
  discard(lane: L): void {
    this.#lanes.delete(lane)
    lane.destroy()
  }

  /** Forgets a lane whose connection goes on elsewhere. */
  leave(lane: L): void {
    this.#lanes.delete(lane)
  }

  /** Ends a connection that nobody uses, the one that has waited longest; false when there is none. */
  giveUpIdle(): boolean {
    for (let lane = this.#idle.shift(); lane !== undefined; lane = this.#idle.shift()) {
      if (!lane.alive) continue
      this.discard(lane)
      return true
    }
    return false
  }

  /** Ends idle connections that were kept for long enough. */
  sweep(now: number): void {
    for (const lane of this.#idle) if (lane.alive && lane.isStale(now)) this.discard(lane)
    this.#forget()
  }

  /** Ends every connection. */
  close(): void {
    for (const lane of this.#lanes) lane.destroy()
    this.#lanes.clear()
    this.#idle.length = 0
  }

  #count(delta: number): void {
    this.#connected += delta
    this.#options.onConnections(delta)
  }

  #retire(lane: L): void {
    lane.alive = false
    this.#lanes.delete(lane)
    this.#forget()
  }

  /** Forgets lanes that were closed while idle, without a walk for each of them. */
  #forget(): void {
    while (this.#idle.length > 0 && !this.#idle[this.#idle.length - 1]!.alive) this.#idle.pop()
    if (this.#idle.length < this.#lanes.size * 2 + 16) return
    const kept = this.#idle.filter((lane) => lane.alive)
    this.#idle.length = 0
    this.#idle.push(...kept)
  }
}
