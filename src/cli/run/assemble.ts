import { createControlSocket } from '../../admin/control-socket.ts'
import { createAdmin } from '../../admin/server.ts'
import type { BoundAddress } from '../../listener/front/bind.ts'
import { connectionLimits, descriptorLimit } from '../../listener/front/descriptor-limit.ts'
import { Sidecar } from '../../listener/sidecar.ts'
import type { SidecarOptions } from '../../listener/sidecar-options.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { LogIds, Logger } from '../../telemetry/log.ts'
import { createMetrics, type Exposition, type Metrics } from '../../telemetry/metrics.ts'
import type { TextFormat } from '../../telemetry/text-format.ts'
import { formatUpstream } from '../../upstream/address.ts'
import type { RulesEngine } from './rules-engine.ts'
import type { RunRules } from './rules-guard-options.ts'
import type { RunOptions } from '../commands/run.ts'
import { readVersion } from '../version.ts'

/** With room for fewer clients than this, the limit on open files is logged as a warning. */
const FEW_CONNECTIONS = 1_000

/** A running sidecar with its admin port. */
export interface Running {
  /** The bound address of each `--listen`, in order. */
  readonly listeners: readonly BoundAddress[]
  readonly admin: BoundAddress | undefined
  readonly sidecar: Sidecar
  readonly metrics: Metrics
  /** Undefined when no rule can become active. */
  readonly rules: ActiveRules | undefined
  /** Waits for exchanges in flight within a time limit, then stops. */
  drain(): Promise<void>
  /** Stops at once. */
  close(): Promise<void>
}

/** Creates the parts and binds every address; releases everything when it throws. */
export async function assemble(options: RunOptions, logger: Logger): Promise<Running> {
  const version = readVersion()
  const metrics = createMetrics({ version })
  const engine = await rulesEngine(options.rules, metrics, logger, options.logIds)
  const telemetry = engine?.telemetry ?? metrics
  const asked = sidecarOptions(options)
  const room = connectionLimits(descriptorLimit(), { ...asked, listeners: asked.pairs.length })
  const sidecar = new Sidecar({ ...asked, ...room }, telemetry, logger, engine?.parts)
  metrics.memory = sidecar.memory
  // Before the first call, so that the rules apply to every call.
  await engine?.start()
  let listeners: BoundAddress[]
  try {
    listeners = await sidecar.listen()
  } catch (error) {
    await engine?.close()
    throw error
  }
  const admin = createAdmin({
    metrics: {
      render: (format) => scrape(sidecar, metrics, format),
      adminRefused: (reason) => metrics.adminRefused(reason),
    },
    readiness: () => sidecar.readiness(),
    logger,
    version,
    rules: engine?.rules,
    recent: engine?.recent,
    tools: () => metrics.tools(),
    token: options.adminToken,
    access: options.adminAccess,
    appProbes: options.appProbes,
    maxConnections: room.adminConnections,
    environment: options.rules.environment,
    namespace: options.rules.namespace,
  })
  const control = createControlSocket(
    { disarm: () => sidecar.podEnds(), appAccepts: () => sidecar.appAccepts() },
    logger,
  )
  let bound: BoundAddress | undefined
  try {
    // Before the admin port: its responses mean that everything else is ready.
    if (options.control !== undefined) await control.listen(options.control)
    bound = options.admin === undefined ? undefined : await admin.listen(options.admin)
  } catch (error) {
    control.close()
    await sidecar.close()
    await engine?.close()
    throw error
  }
  for (const [index, { upstream }] of options.routes.entries()) {
    const { text } = listeners[index]!
    logger.info({ address: text, upstream: formatUpstream(upstream) }, 'listening')
  }
  if (bound !== undefined) logger.info({ address: bound.text }, 'admin listening')
  if (room.reduced) {
    const message = 'fewer connections than asked for, by the limit on open files; raise ulimit -n'
    logger[room.maxConnections < FEW_CONNECTIONS ? 'warn' : 'info'](room, message)
  }
  const parts = { listeners, admin: bound, sidecar, metrics, rules: engine?.rules }
  return running(parts, async () => {
    control.close()
    await engine?.close()
    await admin.close()
  })
}

/** Loads the modules that read rules; returns undefined without loading when no rule can become active. */
async function rulesEngine(
  options: RunRules,
  metrics: Metrics,
  logger: Logger,
  ids: LogIds,
): Promise<RulesEngine | undefined> {
  if (options.path === undefined && options.headerFaults === undefined) return undefined
  const { createRulesEngine } = await import('./rules-engine.ts')
  return createRulesEngine(options, metrics, logger, ids)
}

/** Updates the sizes of tables, which otherwise happens once a second, and renders the metrics. */
function scrape(sidecar: Sidecar, metrics: Metrics, format: TextFormat): Promise<Exposition> {
  sidecar.sweep()
  return metrics.render(format)
}

function running(parts: Omit<Running, 'drain' | 'close'>, rest: () => Promise<void>): Running {
  const end = (sidecar: () => Promise<void>) => async (): Promise<void> => {
    await sidecar()
    await rest()
  }
  return {
    ...parts,
    drain: end(() => parts.sidecar.drain()),
    close: end(() => parts.sidecar.close()),
  }
}

/** Returns the options of the data path. */
export function sidecarOptions(options: RunOptions): Omit<SidecarOptions, 'overloadReserve'> {
  const { tls, upstreamTls } = options
  return {
    pairs: options.routes,
    publicUrl: options.publicUrl,
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
    engine: options.engine,
    maxHeaderSize: options.maxHeaderBytes,
    maxBody: options.maxBodyBytes,
    maxMemory: options.maxMemoryBytes,
    maxConnections: options.maxConnections,
    maxUpstreamConnections: options.maxUpstreamConnections,
    maxPending: options.maxPending,
    maxSessions: options.maxSessions,
    headerTimeout: options.headerTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
    holdTimeout: options.holdTimeoutMs,
    pendingTtl: options.pendingTtlMs,
    connectTimeout: options.connectTimeoutMs,
    upstreamReuse: options.upstreamReuse === 'always',
    upstreamIdle: options.upstreamIdleMs,
    clientKeepalive: options.clientKeepaliveMs,
    drainTimeout: options.drainTimeoutMs,
  }
}
