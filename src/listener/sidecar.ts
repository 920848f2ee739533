import type { ConnectionOptions } from 'node:tls'
import type { Arming } from '../rules/guard/arming.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { bind, type BoundAddress } from './front/bind.ts'
import type { FaultParts } from './faults/create-planner.ts'
import { MemoryBudget } from './memory-budget.ts'
import { defaultMemoryBudget } from './memory-limit.ts'
import { Port } from './port.ts'
import { RareLog } from './rare-log.ts'
import type { SidecarOptions } from './sidecar-options.ts'
import { TlsFiles } from './front/tls-files.ts'

/** Whether traffic should be sent here, and why not. */
export interface Readiness {
  readonly ready: boolean
  readonly reason: string
  /** Whether traffic is taken, be the app there or not. */
  readonly listening: boolean
}

const SWEEP_INTERVAL = 1_000

/** All listeners of one process, from start to drained. */
export class Sidecar {
  readonly memory: MemoryBudget
  readonly #options: SidecarOptions
  readonly #arming: Arming | undefined
  readonly #ports: readonly Port[]
  readonly #files: readonly TlsFiles[]
  #state: 'starting' | 'listening' | 'draining' = 'starting'
  #sweeper: NodeJS.Timeout | undefined
  #drained: Promise<void> | undefined

  constructor(options: SidecarOptions, telemetry: Telemetry, logger: Logger, faults?: FaultParts) {
    this.#options = options
    this.memory = new MemoryBudget(options.maxMemory ?? defaultMemoryBudget())
    this.#arming = faults?.rules.arming
    const upstreamFiles = new TlsFiles(options.upstreamTls, logger)
    const tls = (): ConnectionOptions => ({
      ...upstreamFiles.material,
      ...(options.upstreamServername === undefined
        ? {}
        : { servername: options.upstreamServername }),
      rejectUnauthorized: !options.upstreamInsecure,
    })
    const { listenTls } = options
    const listenFiles =
      listenTls === undefined
        ? undefined
        : new TlsFiles(listenTls, logger, (material) => {
            for (const port of this.#ports) port.secure(material)
          })
    const rareLog = new RareLog(logger, () => performance.now())
    this.#files = listenFiles === undefined ? [upstreamFiles] : [upstreamFiles, listenFiles]
    this.#ports = options.pairs.map(
      ({ upstream }) =>
        new Port(options, upstream, tls, listenFiles?.material, {
          telemetry,
          logger,
          rareLog,
          faults,
          memory: this.memory,
        }),
    )
  }

  /** Binds every listener; the addresses come back as they really are. */
  async listen(): Promise<BoundAddress[]> {
    const bound: BoundAddress[] = []
    try {
      for (const [index, { listen }] of this.#options.pairs.entries()) {
        bound.push(await bind(this.#ports[index]!.server, listen))
      }
    } catch (error) {
      await this.close()
      throw error
    }
    for (const files of this.#files) await files.watch()
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_INTERVAL)
    this.#sweeper.unref()
    this.#state = 'listening'
    return bound
  }

  /** Ready means listening, and the app behind each listener accepting connections. */
  async readiness(): Promise<Readiness> {
    const listening = this.#state === 'listening'
    if (!listening) return { ready: false, reason: this.#state, listening }
    if (this.#options.readyWithoutUpstream) return { ready: true, reason: 'listening', listening }
    for (const port of this.#ports) {
      if (!(await port.upstreamAccepts())) {
        const reason = `${port.upstreamName} does not accept connections`
        return { ready: false, reason, listening }
      }
    }
    return { ready: true, reason: 'listening, upstream accepts', listening }
  }

  /** Whether the app behind any listener accepts connections. */
  async appAccepts(): Promise<boolean> {
    for (const port of this.#ports) if (await port.upstreamAccepts()) return true
    return false
  }

  /** The pod ends: no fault acts any more, and traffic is served on until the drain. */
  podEnds(): void {
    this.#arming?.disarm('draining', 'the pod is terminating')
  }

  /** Bounded tables let go of what is stale, and gauges of table sizes are brought up to date. */
  sweep(): void {
    this.memory.relieve(performance.now())
    for (const port of this.#ports) port.sweep(performance.now())
  }

  /**
   * Stops accepting and lets what is in flight finish. What has not ended when the time is over is
   * cut. Resolves when every connection is closed.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain()
    return this.#drained
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.#state = 'draining'
    clearInterval(this.#sweeper)
    for (const port of this.#ports) port.close()
    for (const files of this.#files) await files.close()
    this.sweep()
  }

  async #drain(): Promise<void> {
    this.#state = 'draining'
    // What a fault holds back must not hold up the end.
    this.#arming?.disarm('draining', 'the sidecar is draining')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.drainTimeout)
    })
    await Promise.race([Promise.all(this.#ports.map((port) => port.drain())), late])
    clearTimeout(timer)
    await this.close()
  }
}
