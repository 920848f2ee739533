import type { Findings } from '../agents/findings.ts'
import type { AgentSource } from '../admin/show-tasks.ts'
import { createControlSocket } from '../admin/control-socket.ts'
import type { Routes } from '../admin/routes.ts'
import { type Admin, createAdmin } from '../admin/server.ts'
import type { BoundAddress } from '../listener/front/bind.ts'
import { connectionLimits, descriptorLimit } from '../listener/front/descriptor-limit.ts'
import type { RecentFaults } from '../listener/faults/fault-report.ts'
import { Sidecar } from '../listener/sidecar.ts'
import type { OwnUpstream } from '../listener/port-stack.ts'
import type { SidecarOptions } from '../listener/sidecar-options.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { TemporaryFaults } from '../rules/watch/temporary-faults.ts'
import { quoted } from '../base/text/foreign-text.ts'
import { invalidCombination, invalidFile } from '../base/flags/usage-error.ts'
import type { CallLog, CountLines } from '../telemetry/call-log.ts'
import { CallWatch } from '../telemetry/call-watch.ts'
import { ShownIds } from '../telemetry/shown-ids.ts'
import type { SpanServices } from '../telemetry/spans.ts'
import { isForPeople, type Logger } from '../telemetry/log.ts'
import { redactText } from '../telemetry/redact.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { Exposition, TextFormat } from '../telemetry/text-format.ts'
import { formatUpstream } from '../upstream/address.ts'
import type { RulesEngine } from './rules-engine.ts'
import { openedTape } from './tape-options.ts'
import type { RunOptions } from './run-options.ts'
import { readVersion } from '../base/program.ts'
import { systemReason } from '../base/system-reason.ts'

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
  /** The last injected faults; undefined when no rule can become active. */
  readonly recent: RecentFaults | undefined
  /** Adds rules of no file; undefined when no rule can become active. */
  readonly temporary: TemporaryFaults | undefined
  /** Shows single calls to readers. */
  readonly watch: CallWatch
  /** Watches agents; undefined where nobody asked for that. */
  readonly agents: AgentSource | undefined
  /** Writes calls to a file; undefined where nobody asked for that. */
  readonly callLog: CallLog | undefined
  /** Waits for in-flight exchanges within a time limit, then stops. */
  drain(): Promise<void>
  /** Stops at once. */
  close(): Promise<void>
}

/** The parts that the caller gives. */
export interface OwnParts {
  /** Set for rules that are not in a file: the caller sets them. */
  readonly keptFaults?: number
  /** Takes the place of the upstream. */
  readonly own?: OwnUpstream
}

/** The options of `squall run`, and of `squall stdio`. */
type Options = RunOptions & Pick<SidecarOptions, 'stdio'>

/** Creates the parts and binds every address; closes them all when it throws. */
export async function assemble(
  options: Options,
  logger: Logger,
  given?: OwnParts,
): Promise<Running> {
  const parts = await createParts(options, logger, given)
  const { sidecar, metrics, watch, agents, engine, callLog, closeOutputs } = parts
  const control = createControlSocket(
    { disarm: () => sidecar.podEnds(), upstreamAccepts: () => sidecar.upstreamAccepts() },
    logger,
  )
  const closeRest = async (admin?: Admin): Promise<void> => {
    control.close()
    await engine?.close()
    await admin?.close()
    await closeOutputs()
  }
  // Before the first call, so that the rules apply to every call.
  await engine?.start(() => sidecar.upstreams())
  try {
    const listeners = await sidecar.listen()
    metrics.violations = sidecar.stdio?.violations ?? {}
    const admin = await adminOf(options, logger, parts, listeners)
    // The admin port comes last: its responses mean that all other parts are ready.
    if (options.control !== undefined) await control.listen(options.control)
    const bound = options.admin === undefined ? undefined : await admin.listen(options.admin)
    logAddresses(logger, parts, listeners, bound)
    const { rules, recent, temporary } = engine ?? {}
    const shown = { sidecar, metrics, watch, agents, rules, recent, temporary, callLog }
    return running({ ...shown, listeners, admin: bound }, () => closeRest(admin))
  } catch (error) {
    await sidecar.close()
    await closeRest()
    throw error
  }
}

type Parts = Awaited<ReturnType<typeof createParts>>

/** Creates what runs behind the addresses, and opens the files that are written. */
async function createParts(options: Options, logger: Logger, given: OwnParts | undefined) {
  const version = readVersion()
  const metrics = new Metrics({ version, detail: options.metricsDetail })
  const { callLog, tape, closeFiles } = await openedFiles(options, metrics, logger)
  const ids = new ShownIds(options.logIds, options.traceUrl)
  const agents = await agentsOf(options, metrics, ids)
  const engine = await rulesEngine(options, metrics, logger, given, agents?.findings)
  const named = listenersOf(options, given?.own?.name)
  const room = connectionLimits(descriptorLimit(), { ...options, listeners: named.length })
  const messages = options.errorMessages === 'redacted'
  const watch = new CallWatch({ ids, messages })
  if (callLog !== undefined) watch.read((line) => callLog.take(line))
  const dropped = (spans: number) => (metrics.outputs.droppedSpans += spans)
  const services = { version, ids, messages, dropped, logger }
  const closeSpans = await openedSpans(options, services, watch, agents)
  const closeOutputs = () => Promise.all([closeFiles(), closeSpans?.()])
  const telemetry = engine?.telemetry ?? metrics
  const reporters = { telemetry, logger, watch, agents: agents?.watch, own: given?.own, tape }
  const sidecar = new Sidecar(
    { ...options, ...room },
    { ...reporters, faults: engine?.parts, outboundCounts: metrics.outbound },
  )
  metrics.memory = sidecar.memory
  return { version, metrics, callLog, agents, engine, named, room, watch, sidecar, closeOutputs }
}

/** Creates the admin port, which shows the parts. */
async function adminOf(
  options: Options,
  logger: Logger,
  { version, metrics, agents, engine, named, room, watch, sidecar }: Parts,
  listeners: readonly BoundAddress[],
) {
  return createAdmin({
    metrics: {
      render: (format) => scrape(sidecar, metrics, format),
      adminRejected: (reason) => metrics.adminRejected(reason),
    },
    readiness: () => sidecar.readiness(),
    logger,
    version,
    rules: engine?.rules,
    recent: engine?.recent,
    temporary: engine?.temporary,
    compat: await compatRoutes(options, engine, logger),
    tools: () => metrics.tools(),
    watch,
    agents,
    markers: sidecar.markers,
    outbound: options.outbound.length > 0 ? metrics.outbound : undefined,
    token: options.adminToken,
    access: options.adminAccess,
    appProbes: options.appProbes,
    maxConnections: room.adminConnections,
    environment: options.rules.environment,
    namespace: options.rules.namespace,
    pod: options.rules.pod,
    workload: options.rules.self?.workload,
    listeners: [
      ...named.map(({ upstream }, index) => ({ listen: listeners[index]!.text, upstream })),
      ...(sidecar.stdio ? [{ listen: 'stdio', upstream: sidecar.stdio.upstreamName }] : []),
    ],
  })
}

/** Logs the bound addresses, and a limit on open files that is too low for the options. */
function logAddresses(
  logger: Logger,
  { named, room }: Parts,
  listeners: readonly BoundAddress[],
  admin: BoundAddress | undefined,
): void {
  for (const [index, { upstream, scheme }] of named.entries()) {
    const url = scheme && urlOf(listeners[index]!, scheme)
    logger.info({ address: listeners[index]!.text, upstream, url }, 'listening')
  }
  if (admin !== undefined) {
    logger.info({ address: admin.text, page: urlOf(admin) }, 'admin listening')
  }
  if (!room.reduced) return
  const message =
    'the limit on open files allows fewer connections than configured; raise ulimit -n'
  logger[room.maxConnections < FEW_CONNECTIONS ? 'warn' : 'info'](room, message)
}

/** Returns the upstream of each listener by name, in the order in which they are bound. */
function listenersOf(
  { pairs, outbound, listenTls }: RunOptions,
  own: string | undefined,
): readonly {
  readonly upstream: string
  /** Undefined for a listener that does not speak HTTP. */
  readonly scheme?: 'http' | 'https'
}[] {
  return [
    ...pairs.map(({ upstream, isOutbound }) => ({
      upstream: (isOutbound ? undefined : own) ?? formatUpstream(upstream),
      scheme: listenTls === undefined || isOutbound ? ('http' as const) : ('https' as const),
    })),
    ...outbound.map(({ targets }) => ({ upstream: targets.map(({ text }) => text).join(', ') })),
  ]
}

/** Creates what watches agents; loads nothing where nobody asked for that. */
async function agentsOf(
  { tasks }: RunOptions,
  metrics: Metrics,
  ids: ShownIds,
): Promise<AgentSource | undefined> {
  if (tasks === undefined) return undefined
  const { AgentWatch, Findings } = await import('../agents/agent-watch.ts')
  const counts = metrics.tasks
  const findings = new Findings(tasks)
  const watch = new AgentWatch(tasks, counts, () => metrics.evicted('tasks'), findings)
  const lies = () => metrics.watched.lies
  return { watch, counts, lies, findings, flows: findings.flows, ids }
}

/** The time to export the last spans at the end. */
const CLOSE_SPANS_MS = 2_000

/**
 * Begins to export spans, and returns the function that ends the export; loads nothing without a
 * collector. A wrong collector is logged, and never keeps the sidecar from starting.
 */
async function openedSpans(
  { tracing: { spans: exported, warnings = [] }, drainTimeout }: RunOptions,
  services: SpanServices,
  watch: CallWatch,
  agents: AgentSource | undefined,
): Promise<(() => Promise<void>) | undefined> {
  const { logger } = services
  for (const why of warnings) logger.warn({ why }, 'invalid tracing setting')
  if (exported === undefined) return undefined
  try {
    const { openSpans } = await import('../telemetry/spans.ts')
    const spans = (watch.spans = await openSpans(exported, services))
    agents?.watch.read(({ event, verdict }) => spans.verdict(verdict, event.facts))
    return () => spans.close(Math.min(CLOSE_SPANS_MS, drainTimeout))
  } catch (error) {
    logger.warn({ why: redactText((error as Error).message) }, 'no spans are exported')
    return undefined
  }
}

/** Opens the files that are written. Throws a `UsageError`. */
async function openedFiles(options: RunOptions, metrics: Metrics, logger: Logger) {
  const callLog = await openedCallLog(options, metrics, logger)
  const tape = await openedTape(options.tape, metrics, logger)
  const closeFiles = async (): Promise<void> => {
    await callLog?.close()
    await tape?.close()
  }
  return { callLog, tape, closeFiles }
}

/** Opens the call log. Throws a `UsageError`. */
async function openedCallLog(
  { callLog: path, callLogSize: maxBytes, logFormat }: RunOptions,
  metrics: Metrics,
  logger: Logger,
): Promise<CallLog | undefined> {
  if (path === undefined) return undefined
  if (path === '-' && isForPeople(logFormat)) {
    throw invalidCombination(
      '--call-log -: standard output has the human-readable log',
      'name a file, or add --log-format json',
    )
  }
  const { openCallLog } = await import('../telemetry/call-log.ts')
  try {
    const count: CountLines = (fate, lines) => (metrics.outputs.callLog[fate] += lines)
    return await openCallLog({ path, maxBytes, count, logger })
  } catch (error) {
    throw invalidFile(
      `the call log ${quoted(path)} cannot be opened: ${systemReason(error)}`,
      'name a file in a directory that this user can write to',
    )
  }
}

/** Returns a URL that works on this machine; undefined for a Unix socket. */
function urlOf({ host, port }: BoundAddress, scheme = 'http'): string | undefined {
  if (port === 0) return undefined
  const isEvery = host === '0.0.0.0' || host === '::'
  const shown = isEvery ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${scheme}://${shown}:${port}/`
}

/**
 * Loads the modules that read rules; returns undefined without loading when no rule can become
 * active.
 */
async function rulesEngine(
  options: Options,
  metrics: Metrics,
  logger: Logger,
  given: OwnParts | undefined,
  findings: Findings | undefined,
): Promise<RulesEngine | undefined> {
  const { rules, admin, adminToken, compatApi } = options
  const { path, headerFaults } = rules
  const addsFaults = admin !== undefined && (adminToken !== undefined || compatApi !== undefined)
  if (
    path === undefined &&
    headerFaults === undefined &&
    given?.keptFaults === undefined &&
    !addsFaults
  ) {
    return undefined
  }
  const { createRulesEngine } = await import('./rules-engine.ts')
  const idle = options.stdio && (await import('../rules/explain/idle-faults.ts')).idleOnStdio
  return createRulesEngine(rules, metrics, logger, { ...options, ...given, idle, findings })
}

/** Creates the paths of `--compat-api`; loads nothing without it. */
async function compatRoutes(
  { compatApi, adminToken: token }: RunOptions,
  engine: RulesEngine | undefined,
  logger: Logger,
): Promise<Routes | undefined> {
  if (compatApi === undefined || engine === undefined) return undefined
  const { rules, temporary } = engine
  const { chaosMonkeyRoutes } = await import('../admin/compat/chaos-monkey.ts')
  return chaosMonkeyRoutes({ rules, temporary, logger, token, ...compatApi })
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
