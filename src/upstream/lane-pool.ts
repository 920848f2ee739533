import { Lane, type LaneOptions } from './lane.ts'

/** Bounds and reports of a pool. */
export interface LanePoolOptions extends LaneOptions {
  readonly maxConnections: number
  readonly onConnections: (delta: number) => void
}

/**
 * Connections to one app. The one used last is used first, so that as few as possible idle towards
 * the app's own timeout.
 */
export class LanePool {
  readonly #options: LanePoolOptions
  readonly #idle: Lane[] = []
  readonly #lanes = new Set<Lane>()
  #connected = 0

  constructor(options: LanePoolOptions) {
    this.#options = options
  }

  /** Connections that are open right now. */
  get connected(): number {
    return this.#connected
  }

  /** A free lane, or undefined when the bound is met. */
  acquire(): Lane | undefined {
    for (let lane = this.#idle.pop(); lane !== undefined; lane = this.#idle.pop()) {
      if (!lane.alive) continue
      lane.busy = true
      return lane
    }
    if (this.#lanes.size >= this.#options.maxConnections) return undefined
    const lane = new Lane(this.#options, {
      connected: () => this.#count(1),
      disconnected: (ended) => {
        this.#count(-1)
        // A request that found its connection closing is not sent yet: undici opens a new one for it.
        if (!ended.busy) this.#retire(ended)
      },
    })
    lane.busy = true
    this.#lanes.add(lane)
    return lane
  }

  /** Gives a lane back after an exchange that left its connection in order. */
  release(lane: Lane): void {
    lane.busy = false
    this.#idle.push(lane)
  }

  /** Ends a lane whose connection cannot be used again. */
  discard(lane: Lane): void {
    this.#lanes.delete(lane)
    lane.destroy()
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

  #retire(lane: Lane): void {
    lane.alive = false
    this.#lanes.delete(lane)
    this.#sweep()
  }

  /** Forgets lanes that were closed while idle, without a walk for each of them. */
  #sweep(): void {
    while (this.#idle.length > 0 && !this.#idle[this.#idle.length - 1]!.alive) this.#idle.pop()
    if (this.#idle.length < this.#lanes.size * 2 + 16) return
    const kept = this.#idle.filter((lane) => lane.alive)
    this.#idle.length = 0
    this.#idle.push(...kept)
  }
}
