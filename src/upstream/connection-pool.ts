import type { Connector } from './connector.ts'

/** Configures the connections of one upstream. */
export interface ConnectionOptions {
  readonly connector: Connector
  /** Retires an idle connection after this, or 2 s before the announced timeout of the upstream. */
  readonly idle: number
  readonly maxResponseHead: number
}

/** Retires connections this much before the upstream closes them, so that no request is lost. */
export const RETIRE_BEFORE_APP = 2_000

/** Reports a connection's state to its pool. */
export interface ConnectionEvents<C> {
  connected(): void
  disconnected(connection: C): void
}

/** A connection to the upstream, as a pool sees it. */
export interface PooledConnection {
  alive: boolean
  busy: boolean
  /** The end of the last exchange, by the pool's clock. */
  idleSince: number
  /** True when a request waits until an end that has arrived already is read. */
  looksFirst: boolean
  /** Returns true when the idle time of the connection has ended. */
  isStale(now: number): boolean
  /** Ends the connection at once, whatever it is doing. */
  destroy(): void
}

export interface ConnectionPoolOptions<C> {
  readonly open: (events: ConnectionEvents<C>) => C
  /** False when no further connection may be opened. */
  readonly mayOpen: () => boolean
  /** False ends each connection after one exchange. */
  readonly reuse: boolean
  readonly onConnections: (delta: number) => void
  readonly now: () => number
}

/** Servers close connections that are idle for some seconds; the end may have arrived unread. */
const LONG_IDLE = 1_000

/**
 * Connections to one upstream. The one used last is used first, so that as few as possible idle
 * towards the upstream's own timeout.
 */
export class ConnectionPool<C extends PooledConnection> {
  readonly #options: ConnectionPoolOptions<C>
  readonly #idle: C[] = []
  readonly #connections = new Set<C>()
  readonly #events: ConnectionEvents<C>
  #connected = 0

  constructor(options: ConnectionPoolOptions<C>) {
    this.#options = options
    this.#events = {
      connected: () => this.#count(1),
      disconnected: (ended) => {
        this.#count(-1)
        // A request that found its connection closing is not sent yet: undici opens a new one for
        // it.
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
    return this.#connections.size
  }

  /** True when a connection is open and free. */
  get hasIdle(): boolean {
    return this.#idle.some((connection) => connection.alive)
  }

  /** Returns an open and free connection, or undefined when none exists. */
  acquireIdle(): C | undefined {
    if (this.#idle.length === 0) return undefined
    const now = this.#options.now()
    for (
      let connection = this.#idle.pop();
      connection !== undefined;
      connection = this.#idle.pop()
    ) {
      if (!connection.alive) continue
      if (connection.isStale(now)) {
        this.discard(connection)
        continue
      }
      connection.busy = true
      connection.looksFirst = now - connection.idleSince > LONG_IDLE
      return connection
    }
    return undefined
  }

  /** Returns a free or new connection, or undefined when the bound is met. */
  acquire(): C | undefined {
    const idle = this.acquireIdle()
    if (idle !== undefined) return idle
    return this.#options.mayOpen() ? this.adopt(this.#options.open) : undefined
  }

  /** Opens a connection with `open` and adds it, whatever the bound. */
  adopt(open: (events: ConnectionEvents<C>) => C): C {
    const connection = open(this.#events)
    connection.busy = true
    this.#connections.add(connection)
    return connection
  }

  /** Returns a reusable connection to the pool after an exchange. */
  release(connection: C): void {
    connection.busy = false
    connection.idleSince = this.#options.now()
    if (this.#options.reuse) this.#idle.push(connection)
    else this.discard(connection)
  }

  /** Ends a connection that cannot be used again. */
  discard(connection: C): void {
    this.#connections.delete(connection)
    connection.destroy()
  }

  /** Removes a connection that another reader takes over, without ending it. */
  detach(connection: C): void {
    this.#connections.delete(connection)
  }

  /** Ends the connection that has been idle longest; false when none is idle. */
  closeIdle(): boolean {
    for (
      let connection = this.#idle.shift();
      connection !== undefined;
      connection = this.#idle.shift()
    ) {
      if (!connection.alive) continue
      this.discard(connection)
      return true
    }
    return false
  }

  /** Ends connections whose idle time has ended. */
  sweep(now: number): void {
    for (const connection of this.#idle)
      if (connection.alive && connection.isStale(now)) this.discard(connection)
    this.#prune()
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy()
    this.#connections.clear()
    this.#idle.length = 0
  }

  #count(delta: number): void {
    this.#connected += delta
    this.#options.onConnections(delta)
  }

  #retire(connection: C): void {
    connection.alive = false
    this.#connections.delete(connection)
    this.#prune()
  }

  /**
   * Drops connections that closed while idle; amortized, because each close would otherwise scan
   * the list.
   */
  #prune(): void {
    while (this.#idle.length > 0 && !this.#idle[this.#idle.length - 1]!.alive) this.#idle.pop()
    if (this.#idle.length < this.#connections.size * 2 + 16) return
    const kept = this.#idle.filter((connection) => connection.alive)
    this.#idle.length = 0
    this.#idle.push(...kept)
  }
}
