import { FalseValues } from '../listener/falsified/false-values.ts'
import type { Findings } from '../agents/findings.ts'
import { Canaries } from '../listener/faults/session-control.ts'
import type { Guard } from '../rules/guard/guard.ts'
import type { RollbackOn, UpstreamState } from '../rules/guard/rollback-on.ts'
import { type Telemetry, telemetryWith } from '../telemetry/telemetry.ts'
import { FaultReport, RecentFaults } from '../listener/faults/fault-report.ts'
import { type FaultParts, createPlanner } from '../listener/faults/fault-planner.ts'
import { ConnectionFaults } from '../listener/outbound/connection-faults.ts'
import { sampleRules } from '../listener/faults/rules-sample.ts'
import { createGuardedRules } from '../rules/guard/guarded-rules.ts'
import { type ActiveRules, steadyClock } from '../rules/watch/active-rules.ts'
import { type PodLabels, PodLabelsWatcher } from '../rules/watch/pod-labels.ts'
import { RulesWatcher } from '../rules/watch/rules-watcher.ts'
import { TemporaryFaults } from '../rules/watch/temporary-faults.ts'
import { StopWatcher } from '../rules/watch/stop-watcher.ts'
import {
  isForPeople,
  type LogFormat,
  type LogIds,
  type LogInjections,
  type Logger,
} from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RulesFile } from '../rules/file/schema.ts'
import type { RuleStates } from '../rules/select/rule-states.ts'
import type { RunRules } from './rules-options.ts'
import { RuleEnds } from './rule-ends.ts'
import { RulesLog } from './rules-log.ts'

/** Passes telemetry on, and reports each call to the guard and to `--rollback-on`. */
function guardedTelemetry(
  inner: Telemetry,
  connections: ConnectionFaults,
  guard?: Guard,
  rollbackOn?: RollbackOn,
): Telemetry {
  return telemetryWith(inner, {
    call: (record) => {
      inner.call(record)
      const now = performance.now()
      // A call may fail because a fault keeps the server from its dependency.
      const isIndirect = record.outcome !== 'ok' && connections.isAtWork(now)
      const judged = isIndirect ? { ...record, origin: 'injected' as const } : record
      guard?.record(judged.outcome, judged.origin, now)
      rollbackOn?.record(judged, now)
    },
  })
}

/** The parts of a running sidecar that rules need. */
export interface RulesEngine {
  readonly rules: ActiveRules
  readonly recent: RecentFaults
  readonly temporary: TemporaryFaults
  /** The parts of the data path that inject faults. */
  readonly parts: FaultParts
  /** Receives the reports of the data path. */
  readonly telemetry: Telemetry
  /** Resolves when the first version of the rules was read. */
  start(upstreams: () => Promise<readonly UpstreamState[]>): Promise<void>
  close(): Promise<void>
}

/** Configures the lines about injected faults, and the number of those that are kept. */
export interface LoggedFaults {
  readonly logIds: LogIds
  readonly logInjections: LogInjections
  readonly logFormat: LogFormat
  readonly keptFaults?: number
  /** Counts how agents behave; undefined while they are not watched. */
  readonly findings?: Findings | undefined
  /** Returns the faults of a file that can never act here, each with its reason. */
  readonly idle?: ((file: RulesFile) => readonly string[]) | undefined
}

/** Creates the parts that rules need. */
export function createRulesEngine(
  options: RunRules,
  metrics: Metrics,
  logger: Logger,
  logged: LoggedFaults,
): RulesEngine {
  const { logIds: ids, logInjections: injections, keptFaults, findings } = logged
  const log = new RulesLog(logger, options, isForPeople(logged.logFormat), logged.idle)
  const guarded = guardedRules(options, metrics, log, () => ends.follow())
  const { isActive, guard, rollbackOn, headerFaults, states } = guarded
  const onExpired = (names: readonly string[]): void => log.expired(names)
  const ends = new RuleEnds(isActive, onExpired)
  const temporary = new TemporaryFaults(isActive, onExpired, options.denyTemporaryFaults)
  metrics.showRules(() => sampleRules(isActive, headerFaults?.invalid))
  const recent = new RecentFaults(keptFaults)
  const { watched } = metrics
  const ruleLabel = (rule: string): string => states.totals.labelOf(rule)
  const shown = { logger, recent, ids, injections, now: Date.now }
  const report = new FaultReport({ telemetry: metrics, watched, ruleLabel, ...shown })
  const connections = new ConnectionFaults(isActive, report.of(undefined), (outcome, origin) => {
    // Many sound connections must not hide calls that fail.
    if (outcome !== 'ok') guard?.record('reset', origin, performance.now())
  })
  const parts = {
    rules: isActive,
    listenerOf: (session: string, trace?: string) => report.of(session, trace),
    headerFaults,
    connections,
    canaries: new Canaries(),
    falseValues: followed(metrics, states, findings),
    createPlanner,
  }
  const isGuarded = guard !== undefined || rollbackOn !== undefined
  const telemetry = isGuarded ? guardedTelemetry(metrics, connections, guard, rollbackOn) : metrics
  const files = watchedFiles(options, guarded, log)
  let checking: NodeJS.Timeout | undefined
  const start: RulesEngine['start'] = async (upstreams) => {
    checking = rollbackOn && checkEach(rollbackOn, guarded.mayAct, upstreams)
    for (const each of files) await each.start()
  }
  const close = async (): Promise<void> => {
    clearInterval(checking)
    await Promise.all(files.map((each) => each.close()))
    for (const each of [isActive, ends, temporary]) each.close()
  }
  return { rules: isActive, recent, temporary, parts, telemetry, start, close }
}

/** Creates the rules with what may stop them; counts and logs each change. */
function guardedRules(
  options: RunRules,
  metrics: Metrics,
  log: RulesLog,
  onChange: () => void,
): ReturnType<typeof createGuardedRules> {
  const guarded = createGuardedRules(options, {
    clock: steadyClock(),
    onReload: (reload) => {
      const { ruleSet } = guarded.isActive
      metrics.reloaded(reload.version.kind === 'rules' ? 'applied' : reload.version.kind)
      log.reloaded(reload, ruleSet.seed)
      if (reload.version.kind === 'rules') log.times(ruleSet, reload.at)
      onChange()
    },
    onArming: (reasons) => log.arming(reasons),
    onTrip: (reason) => {
      metrics.guardTripped('error_rate')
      log.tripped(reason)
    },
    onRollback: (figure, reason) => {
      metrics.guardTripped(figure)
      log.rolledBack(reason)
    },
    onUnchecked: (condition) => log.unchecked(condition),
  })
  return guarded
}

/** Returns what watches files, in the order of their start. */
function watchedFiles(
  { path, pollMs, podLabelsFile, self }: RunRules,
  { isActive, arming }: ReturnType<typeof createGuardedRules>,
  log: RulesLog,
) {
  const onProblem = (message: string): void => log.trouble(message)
  const stop = path === undefined ? undefined : new StopWatcher(path, self.labels, arming)
  const identify = (found: PodLabels | undefined): void => {
    stop?.identify(found)
    isActive.identify({ ...self, labels: found })
  }
  // The labels come first: rules about labels are compiled with them.
  return [
    ...(podLabelsFile === undefined
      ? []
      : [new PodLabelsWatcher(podLabelsFile, identify, onProblem)]),
    ...(stop === undefined ? [] : [stop]),
    ...(path === undefined
      ? []
      : [new RulesWatcher(path, { pollMs }, (version) => isActive.take(version), onProblem)]),
  ]
}

/** Follows false values, and counts what agents did with them. */
function followed({ watched }: Metrics, states: RuleStates, findings?: Findings): FalseValues {
  return new FalseValues(({ rule, tool }, verdict, task) => {
    watched.falsified({ rule: states.totals.labelOf(rule), tool, verdict })
    if (task !== undefined) findings?.falsified(task, tool, verdict)
  })
}

/** Checks the conditions of `--rollback-on` at their interval. */
function checkEach(
  rollbackOn: RollbackOn,
  mayAct: () => boolean,
  upstreams: () => Promise<readonly UpstreamState[]>,
): NodeJS.Timeout {
  let isAsking = false
  const ask = async (): Promise<void> => {
    isAsking = true
    try {
      rollbackOn.upstreams(await upstreams())
    } finally {
      isAsking = false
    }
  }
  const check = (): void => {
    rollbackOn.check(mayAct(), performance.now())
    if (rollbackOn.needsUpstreams && !isAsking) ask().catch(() => undefined)
  }
  return setInterval(check, rollbackOn.interval).unref()
}
