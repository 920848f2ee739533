import { connect, type Socket } from 'node:net'
import type { Destination } from '../../rules/match/call-facts.ts'
import type { CompiledRule } from '../../rules/match/compiled-rule.ts'
import type {
  ConnectionOrigin,
  ConnectionOutcome,
  DestinationCounts,
  OutboundCounts,
} from '../../telemetry/outbound-counts.ts'
import { plainAddress } from '../../http/address.ts'
import { type DialledSockets, noteDial } from '../../upstream/dialled.ts'
import { cutSocket } from '../front/cut-socket.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import { MAX_HELLO, serverNameIn } from './client-hello.ts'
import { type Effects, NO_EFFECTS, sameEffects } from '../../filters/connection.ts'
import type { RareLog } from '../rare-log.ts'
import { type ConnectionFaults, FaultsOfConnection } from './connection-faults.ts'
import { Pump } from './pump.ts'
import type { Target } from './target.ts'

/** The outcomes of connections that cannot be made, by the code of the error. */
const OUTCOMES: Readonly<Record<string, ConnectionOutcome>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
}

/** A peer that has gone without a word is found after this time, in milliseconds. */
const TCP_KEEP_ALIVE = 60_000

/** A ClientHello in more pieces than this is not read. */
const MAX_PIECES = 16

/** The parts that the connections and listeners of a sidecar share. */
export interface OutboundParts {
  readonly counts: OutboundCounts
  /** Undefined when no rule can become active. */
  readonly faults: ConnectionFaults | undefined
  readonly memory: MemoryBudget
  readonly rareLog: RareLog
  /** The connections to captured destinations, by `noteDial`. */
  readonly dialled: DialledSockets
  /** Reads a captured connection as HTTP. */
  readonly serve: (target: Target, client: Socket) => void
  readonly connectTimeout: number
  readonly maxConnections: number
}

/** Says where a connection of the pod leads. */
interface Carried {
  /** The host to connect to. */
  readonly host: string
  readonly destination: Destination
  readonly counts: DestinationCounts
  readonly isCaptured: boolean
}

/** Carries one TCP connection of the pod to a dependency. */
export class OutboundConnection {
  readonly #parts: OutboundParts
  readonly #client: Socket
  readonly #carried: Carried
  readonly #onEnd: (connection: OutboundConnection) => void
  readonly #faults: FaultsOfConnection | undefined
  readonly #up: Pump
  #down: Pump | undefined
  #upstream: Socket | undefined
  #isConnected = false
  #destination: Destination
  #effects: Effects = NO_EFFECTS
  /** The first bytes of the client, until they show the server name or its absence. */
  #hello: Buffer | undefined = Buffer.alloc(0)
  #hellos = 0
  readonly #beganAt = performance.now()
  #result: readonly [ConnectionOutcome, ConnectionOrigin] | undefined
  #sent = 0
  #received = 0
  #hasEnded = false

  constructor(
    parts: OutboundParts,
    client: Socket,
    carried: Carried,
    onEnd: (connection: OutboundConnection) => void,
  ) {
    this.#parts = parts
    this.#client = client
    this.#carried = carried
    this.#onEnd = onEnd
    this.#destination = carried.destination
    this.#faults = parts.faults && new FaultsOfConnection(parts.faults)
    const { memory } = parts
    carried.counts.open++
    const effects = (): Effects => this.#effects
    // Without rules nobody asks for the server name or the address.
    const onBytes = this.#faults && ((bytes: Buffer): void => this.#readHello(bytes))
    this.#up = new Pump({ from: client, memory, effects, onBytes, onShort: this.#onShort })
    client.on('error', (error) => this.#failed(error, client))
    client.once('close', () => this.#closed())
    // Nobody waits for a connection whose client left before it was made.
    client.once('end', () => {
      if (this.#upstream === undefined) client.destroy()
    })
    this.refresh(parts.faults?.active() ?? [])
  }

  /** Returns true when the dependency sent last, at least `ms` milliseconds ago. */
  isIdle(now: number, ms: number): boolean {
    if (this.#up.isBusy || this.#down?.isBusy) return false
    const spokeAt = Math.max(this.#down?.lastAt ?? 0, this.#beganAt)
    return spokeAt >= this.#up.lastAt && now - spokeAt > ms
  }

  /** Applies the rules that may act now. */
  refresh(rules: readonly CompiledRule[]): void {
    if (this.#hasEnded || this.#result !== undefined) return
    const effects = this.#faults?.update(rules, this.#destination) ?? NO_EFFECTS
    if (effects.ends !== undefined) {
      this.cut(effects.ends, 'injected')
      return
    }
    const isSame = sameEffects(effects, this.#effects)
    this.#effects = isSame ? this.#effects : effects
    if (this.#upstream === undefined && !effects.blackhole) this.#connect()
    if (isSame) return
    this.#up.flush()
    this.#down?.flush()
  }

  /** Counts the bytes since the last time. */
  sweep(): void {
    const { counts } = this.#carried
    const sent = this.#upstream?.bytesWritten ?? 0
    const received = this.#upstream?.bytesRead ?? 0
    if (sent === this.#sent && received === this.#received) return
    counts.sent += sent - this.#sent
    counts.received += received - this.#received
    this.#sent = sent
    this.#received = received
  }

  /** Resets both sides. */
  cut(outcome: ConnectionOutcome, origin: ConnectionOrigin): void {
    this.#result ??= [outcome, origin]
    this.#reset()
  }

  /** Ends both sides after what was sent. */
  end(): void {
    this.#client.destroySoon()
    this.#upstream?.destroySoon()
  }

  readonly #onShort = (): void => this.cut('overload', 'real')

  #connect(): void {
    const { connectTimeout, memory, dialled } = this.#parts
    const { host, destination, counts, isCaptured } = this.#carried
    const { port } = destination
    const startedAt = performance.now()
    const upstream = connect({ host, port, noDelay: true, allowHalfOpen: true })
    this.#upstream = upstream
    if (isCaptured) noteDial(upstream, dialled)
    const timer = setTimeout(() => {
      upstream.destroy(Object.assign(new Error('connecting timed out'), { code: 'ETIMEDOUT' }))
    }, connectTimeout)
    upstream.on('error', (error) => this.#failed(error, upstream))
    upstream.once('close', () => {
      clearTimeout(timer)
      this.#closed()
    })
    upstream.once('connect', () => {
      clearTimeout(timer)
      this.#isConnected = true
      counts.connect.observe((performance.now() - startedAt) / 1000)
      upstream.setKeepAlive(true, TCP_KEEP_ALIVE)
      if (this.#faults !== undefined) {
        const address = plainAddress(upstream.remoteAddress ?? '')
        this.#destination = { ...this.#destination, address }
        this.refresh(this.#parts.faults?.active() ?? [])
      }
      const effects = (): Effects => this.#effects
      const onCut = (): void => this.#cutAfterBytes()
      this.#down = new Pump({ from: upstream, memory, effects, onCut, onShort: this.#onShort })
      this.#down.open(this.#client)
      this.#up.open(upstream)
    })
  }

  /** Resets both sides, unless the rule has ended while the last bytes were sent. */
  #cutAfterBytes(): void {
    if (this.#effects.cut === Infinity || this.#hasEnded) return
    this.#faults?.hasCut(this.#effects.cut, this.#destination)
    this.cut('cut', 'injected')
  }

  /** Learns the server name of a TLS connection, for rules about it. */
  #readHello(bytes: Buffer): void {
    if (this.#hello === undefined) return
    if (++this.#hellos > MAX_PIECES) {
      this.#hello = undefined
      return
    }
    this.#hello = Buffer.concat([this.#hello, bytes.subarray(0, MAX_HELLO)])
    const name = serverNameIn(this.#hello)
    if (name === undefined) return
    this.#hello = undefined
    if (name === null) return
    this.#destination = { ...this.#destination, sni: name }
    this.refresh(this.#parts.faults?.active() ?? [])
  }

  #failed(error: NodeJS.ErrnoException, side: Socket): void {
    if (side === this.#upstream) {
      if (!this.#isConnected) this.#unreachable(error)
      this.#result ??= [
        this.#isConnected ? 'reset' : (OUTCOMES[error.code ?? ''] ?? 'error'),
        'real',
      ]
    }
    this.#reset()
  }

  #unreachable({ code, message }: NodeJS.ErrnoException): void {
    const { host, destination } = this.#carried
    const detail = `${host}:${destination.port}: ${code ?? message}`
    this.#parts.rareLog.warn('outbound_unreachable', detail, 'no connection')
  }

  #reset(): void {
    cutSocket(this.#client, 'rst')
    if (this.#upstream !== undefined) cutSocket(this.#upstream, 'rst')
  }

  /** Ends the connection when both sides have ended. */
  #closed(): void {
    const client = this.#client
    const { counts } = this.#carried
    if (!client.closed || this.#upstream?.closed === false) {
      const [other, pump] = client.closed ? [this.#upstream, this.#up] : [client, this.#down]
      // A side that closes without an end takes the other with it; else its last bytes may wait.
      if (other?.writableEnded === false && pump?.hasEnded !== true) cutSocket(other, 'rst')
      return
    }
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.sweep()
    this.#up.close()
    this.#down?.close()
    this.#faults?.close()
    counts.open--
    const held = this.#effects.blackhole ? (['blackhole', 'injected'] as const) : undefined
    const [outcome, origin] = this.#result ?? held ?? ['ok', 'real']
    counts.end(outcome, origin)
    this.#onEnd(this)
    this.#parts.faults?.ended(outcome, origin)
  }
}
