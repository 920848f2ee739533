import { setTimeout as sleep } from 'node:timers/promises'
import { afterReads } from '../base/after-reads.ts'
import type { UpstreamState } from '../rules/guard/rollback-on.ts'
import { OutboundCounts } from '../telemetry/outbound-counts.ts'
import { bind, type BoundAddress } from './front/bind.ts'
import { defaultMemoryBudget, MemoryBudget } from './memory-budget.ts'
import { Port } from './port.ts'
import type { PortContext } from './port-stack.ts'
import { RareLog } from './rare-log.ts'
import type { Target } from './outbound/target.ts'
import type { OutboundParts } from './outbound/outbound-connection.ts'
import type { OutboundListener } from './outbound/outbound-listener.ts'
import type { SidecarOptions } from './sidecar-options.ts'
import { TrustedMarkers } from './trusted-markers.ts'
import type { ServerCommand } from './stdio/server-process.ts'
import type { ClientPipes, StdioPort } from './stdio/stdio-port.ts'
import type { TlsFiles } from './front/tls-files.ts'
import { tlsOf } from './port-tls.ts'
import type { DialledSockets } from '../upstream/dialled.ts'

/** The readiness of a sidecar, with its reason. */
export interface Readiness {
  readonly ready: boolean
  readonly reason: string
  /** True while the sidecar accepts connections, whatever the state of the upstream. */
  readonly listening: boolean
}

const SWEEP_INTERVAL = 1_000
/** A verdict is at most this late. */
const VERDICT_INTERVAL = 50
/** Faults begin on open connections, and end, after at most this, in milliseconds. */
const REFRESH_INTERVAL = 200

/** The parts of a sidecar that others make. */
export interface SidecarParts extends Omit<PortContext, 'rareLog' | 'memory' | 'markers'> {
  readonly outboundCounts?: OutboundCounts | undefined
}

/** Runs all listeners of the process. */
export class Sidecar {
  readonly memory: MemoryBudget
  readonly markers: TrustedMarkers
  readonly #options: SidecarOptions
  readonly #context: PortContext
  /** The port for standard streams; undefined without one, and before `listen`. */
  stdio: StdioPort | undefined
  readonly #attached: StdioPort[] = []
  #outbound: readonly OutboundListener[] = []
  readonly #outboundCounts: OutboundCounts
  readonly #ports: readonly Port[]
  /** Reads captured connections as HTTP; these ports have no listener of their own. */
  readonly #captured = new Map<Target, Port>()
  readonly #dialled: DialledSockets = new Map()
  readonly #files: readonly TlsFiles[]
  #state: 'starting' | 'listening' | 'draining' = 'starting'
  readonly #timers: NodeJS.Timeout[] = []
  #drained: Promise<void> | undefined

  constructor(
    options: SidecarOptions,
    { outboundCounts = new OutboundCounts(), ...parts }: SidecarParts,
  ) {
    const { logger } = parts
    this.#outboundCounts = outboundCounts
    this.#options = options
    const memory = (this.memory = new MemoryBudget(options.maxMemory ?? defaultMemoryBudget()))
    const { files, own, outbound } = tlsOf(options, logger, (material) => {
      for (const port of this.#ports) if (!port.isOutbound) port.secure(material)
    })
    this.#files = files
    const rareLog = new RareLog(logger, () => performance.now())
    const markers = (this.markers = new TrustedMarkers(options.trustMarkers === true, rareLog))
    const context = (this.#context = { ...parts, rareLog, memory, markers })
    const served = options.pairs.map(
      (pair) => new Port(options, pair, pair.isOutbound ? outbound : own, context),
    )
    for (const { listen, targets } of options.outbound ?? []) {
      for (const target of targets.filter(({ isHttp }) => isHttp)) {
        const upstream = { kind: 'tcp', tls: false, host: target.host, port: target.port } as const
        const pair = { listen, upstream, isOutbound: true, keepsHost: true }
        const port = new Port(options, pair, outbound, context, this.#dialled)
        // Begins the checks of node:http that a listener begins.
        port.server.emit('listening')
        this.#captured.set(target, port)
      }
    }
    this.#ports = [...served, ...this.#captured.values()]
  }

  /** The ports of the MCP server, without routes to dependencies. */
  get #served(): readonly Port[] {
    return this.#ports.filter(({ isOutbound }) => !isOutbound)
  }

  /** Binds every listener and returns the bound addresses. */
  async listen(): Promise<BoundAddress[]> {
    const bound: BoundAddress[] = []
    try {
      for (const [index, { listen }] of this.#options.pairs.entries()) {
        bound.push(await bind(this.#ports[index]!.server, listen))
      }
      await this.#startOutbound(bound)
    } catch (error) {
      await this.close()
      throw error
    }
    const { stdio } = this.#options
    if (stdio !== undefined) {
      const { stdin: input, stdout: output, stderr: errors } = process
      this.stdio = await this.attach(stdio, { input, output, errors })
    }
    for (const files of this.#files) await files.watch()
    // Bytes that arrived while the process stood still are read before a client counts as slow.
    this.#every(SWEEP_INTERVAL, () => afterReads(() => this.sweep()))
    const { agents } = this.#context
    if (agents !== undefined) this.#every(VERDICT_INTERVAL, () => agents.sweep(performance.now()))
    this.#state = 'listening'
    return bound
  }

  /** Returns ready when the sidecar listens and every upstream accepts connections. */
  async readiness(): Promise<Readiness> {
    const listening = this.#state === 'listening'
    if (!listening) return { ready: false, reason: this.#state, listening }
    if (this.#options.readyWithoutUpstream) return { ready: true, reason: 'listening', listening }
    const gone = (await this.upstreams()).find(({ accepts }) => !accepts)
    if (gone !== undefined) {
      return { ready: false, reason: `${gone.name} ${gone.trouble}`, listening }
    }
    return { ready: true, reason: 'listening, and the upstream accepts connections', listening }
  }

  /** Returns true when any upstream accepts connections; undefined where there is none. */
  async upstreamAccepts(): Promise<boolean | undefined> {
    const upstreams = await this.upstreams()
    return upstreams.length === 0 ? undefined : upstreams.some(({ accepts }) => accepts)
  }

  /** Starts a server for a client at pipes. Throws a `StartError`. */
  async attach(server: ServerCommand, pipes: ClientPipes): Promise<StdioPort> {
    const { StdioPort } = await import('./stdio/stdio-port.ts')
    const port = new StdioPort({ ...this.#options, server }, this.#context, pipes)
    this.#attached.push(port)
    await port.start()
    return port
  }

  /** Binds the listeners for connections to dependencies; loads nothing without one. */
  async #startOutbound(bound: BoundAddress[]): Promise<void> {
    const { outbound = [], connectTimeout, maxConnections } = this.#options
    if (outbound.length === 0) return
    const { OutboundListener } = await import('./outbound/outbound-listener.ts')
    const { rareLog, faults } = this.#context
    const parts: OutboundParts = {
      counts: this.#outboundCounts,
      faults: faults?.connections,
      memory: this.memory,
      rareLog,
      dialled: this.#dialled,
      serve: (target, client) => this.#captured.get(target)?.server.emit('connection', client),
      connectTimeout,
      maxConnections,
    }
    this.#outbound = outbound.map((route) => new OutboundListener(route, parts))
    for (const listener of this.#outbound) bound.push(await listener.listen())
    if (faults?.connections === undefined) return
    this.#every(REFRESH_INTERVAL, () => this.#refreshOutbound())
    this.#refreshOutbound()
  }

  #refreshOutbound(): void {
    const rules = this.#context.faults?.connections?.active() ?? []
    for (const listener of this.#outbound) listener.refresh(rules)
  }

  /** Returns the upstream of each listener, and whether it accepts connections now. */
  async upstreams(): Promise<readonly UpstreamState[]> {
    const { stdio } = this
    const states = await Promise.all(
      this.#served.map(async (port) => {
        const trouble = await port.upstreamTrouble()
        return { name: port.upstreamName, accepts: trouble === undefined, trouble }
      }),
    )
    return stdio
      ? [...states, { name: stdio.upstreamName, accepts: stdio.running, trouble: 'is not running' }]
      : states
  }

  /** Disarms all rules because the pod terminates; traffic is served until the drain. */
  podEnds(): void {
    this.#context.faults?.rules.arming.disarm('draining', 'the pod is terminating')
  }

  /** Drops stale table entries and updates the gauges of table sizes. */
  sweep(): void {
    this.memory.stalled.relieve(performance.now())
    for (const port of this.#ports) port.sweep(performance.now())
    for (const port of this.#attached) port.sweep()
    for (const listener of this.#outbound) listener.sweep(performance.now())
    this.#context.agents?.sweep(performance.now())
    this.#context.faults?.falseValues.sweep()
  }

  /**
   * Stops accepting and waits for the in-flight exchanges, which are cut after the drain timeout.
   * Resolves when every connection is closed.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain()
    return this.#drained
  }

  /** Ends all listeners and connections at once. */
  async close(): Promise<void> {
    this.#state = 'draining'
    for (const timer of this.#timers) clearInterval(timer)
    for (const port of this.#ports) port.close()
    for (const port of this.#attached) port.close()
    for (const listener of this.#outbound) listener.close()
    for (const files of this.#files) await files.close()
    this.sweep()
  }

  #every(ms: number, act: () => void): void {
    this.#timers.push(setInterval(act, ms).unref())
  }

  async #drain(): Promise<void> {
    this.#state = 'draining'
    // Held requests and responses must not delay the drain.
    this.#context.faults?.rules.arming.disarm('draining', 'the sidecar is draining')
    const done = new AbortController()
    const late = sleep(this.#options.drainTimeout, undefined, done).catch(() => undefined)
    this.#refreshOutbound()
    const drained = [...this.#ports, ...this.#outbound]
    await Promise.race([Promise.all(drained.map((each) => each.drain())), late])
    done.abort()
    await this.close()
  }
}
