import { createAdmin, type Admin } from '../admin/server.ts'
import type { BoundAddress } from '../listener/bind.ts'
import { Sidecar } from '../listener/sidecar.ts'
import type { SidecarOptions } from '../listener/sidecar-options.ts'
import type { Logger } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { formatUpstream } from '../upstream/address.ts'
import type { RunOptions } from './run-options.ts'
import { readVersion } from './version.ts'

/** A sidecar with its admin port, running. */
export interface Running {
  /** One for each `--listen`, in order, as really bound. */
  readonly listeners: readonly BoundAddress[]
  readonly admin: BoundAddress | undefined
  readonly sidecar: Sidecar
  readonly metrics: Metrics
  /** Finishes what is in flight, bounded in time, and ends. */
  drain(): Promise<void>
  /** Ends everything at once. */
  close(): Promise<void>
}

/** Puts the parts together and binds every address, or throws and leaves nothing behind. */
export async function assemble(options: RunOptions, logger: Logger): Promise<Running> {
  const version = readVersion()
  const metrics = createMetrics({ version })
  const sidecar = new Sidecar(sidecarOptions(options), metrics, logger)
  const listeners = await sidecar.listen()
  const admin = createAdmin({
    metrics: { render: () => scrape(sidecar, metrics) },
    readiness: () => sidecar.readiness(),
    logger,
    version,
  })
  let bound: BoundAddress | undefined
  try {
    bound = options.admin === undefined ? undefined : await admin.listen(options.admin)
  } catch (error) {
    await sidecar.close()
    throw error
  }
  for (const [index, { upstream }] of options.routes.entries()) {
    const { text } = listeners[index]!
    logger.info({ address: text, upstream: formatUpstream(upstream) }, 'listening')
  }
  if (bound !== undefined) logger.info({ address: bound.text }, 'admin listening')
  return running(listeners, bound, sidecar, metrics, admin)
}

/** Sizes of tables are told once a second; a scrape sees them as they are. */
function scrape(sidecar: Sidecar, metrics: Metrics): ReturnType<Metrics['render']> {
  sidecar.sweep()
  return metrics.render()
}

function running(
  listeners: readonly BoundAddress[],
  bound: BoundAddress | undefined,
  sidecar: Sidecar,
  metrics: Metrics,
  admin: Admin,
): Running {
  return {
    listeners,
    admin: bound,
    sidecar,
    metrics,
    drain: async () => {
      await sidecar.drain()
      await admin.close()
    },
    close: async () => {
      await sidecar.close()
      await admin.close()
    },
  }
}

/** The part of a run's options that the data path is made from. */
export function sidecarOptions(options: RunOptions): SidecarOptions {
  const { tls, upstreamTls } = options
  return {
    pairs: options.routes,
    listenTls: tls === undefined ? undefined : { cert: tls.certFile, key: tls.keyFile },
    upstreamTls: {
      ca: upstreamTls.caFile,
      cert: upstreamTls.certFile,
      key: upstreamTls.keyFile,
    },
    upstreamServername: upstreamTls.servername,
    upstreamInsecure: upstreamTls.insecure,
    readyWithoutUpstream: options.readyWithoutUpstream,
    strict: options.strict,
    maxHead: options.maxHeadBytes,
    maxBody: options.maxBodyBytes,
    maxConnections: options.maxConnections,
    maxUpstreamConnections: options.maxUpstreamConnections,
    maxPending: options.maxPending,
    maxSessions: options.maxSessions,
    headTimeout: options.headTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
    pendingTtl: options.pendingTtlMs,
    connectTimeout: options.connectTimeoutMs,
    upstreamIdle: options.upstreamIdleMs,
    clientKeepalive: options.clientKeepaliveMs,
    drainTimeout: options.drainTimeoutMs,
  }
}
