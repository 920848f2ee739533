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
  { logIds: ids, logInjections: injections, logFormat, keptFaults, idle, findings }: LoggedFaults,
): RulesEngine {
  const { path, pollMs, podLabelsFile, self, denyTemporaryFaults: denial } = options
  const log = new RulesLog(logger, path, isForPeople(logFormat), idle)
  const guarded = createGuardedRules(options, {
    clock: steadyClock(),
    onReload: (reload) => {
      metrics.reloaded(reload.version.kind === 'rules' ? 'applied' : reload.version.kind)
      log.reloaded(reload, isActive.ruleSet.seed)
      if (reload.version.kind === 'rules') log.times(states.unanchored, isActive.ruleSet, reload.at)
      ends.follow()
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
  const { arming, isActive, guard, rollbackOn, headerFaults, states } = guarded
  let checking: NodeJS.Timeout | undefined
  const ends = new RuleEnds(isActive, (names) => log.expired(names))
  const temporary = new TemporaryFaults(isActive, (names) => log.expired(names), denial)
  metrics.showRules(() => sampleRules(isActive, headerFaults?.invalid))
  const recent = new RecentFaults(keptFaults)
  const report = new FaultReport({
    telemetry: metrics,
    watched: metrics.watched,
    logger,
    ruleLabel: (rule) => states.totals.labelOf(rule),
    recent,
    ids,
    injections,
    now: Date.now,
  })
  const connections = new ConnectionFaults(isActive, report.of(undefined), (outcome, origin) => {
    // Many sound connections must not hide calls that fail.
    if (outcome !== 'ok') guard?.record('reset', origin, performance.now())
  })
  const watcher =
    path === undefined
      ? undefined
      : new RulesWatcher(
          path,
          { pollMs },
          (version) => isActive.take(version),
          (message) => log.trouble(message),
        )
  const stop = path === undefined ? undefined : new StopWatcher(path, self.labels, arming)
  const identify = (found: PodLabels | undefined): void => {
    stop?.identify(found)
    isActive.identify({ ...self, labels: found })
  }
  const labels =
    podLabelsFile === undefined
      ? undefined
      : new PodLabelsWatcher(podLabelsFile, identify, (message) => log.trouble(message))
  return {
    rules: isActive,
    recent,
    temporary,
    parts: {
      rules: isActive,
      listenerOf: (session, trace) => report.of(session, trace),
      headerFaults,
      connections,
      canaries: new Canaries(),
      falseValues: followed(metrics, states, findings),
      createPlanner,
    },
    telemetry:
      guard === undefined && rollbackOn === undefined
        ? metrics
        : guardedTelemetry(metrics, connections, guard, rollbackOn),
    start: async (upstreams) => {
      checking = rollbackOn && checkEach(rollbackOn, guarded.mayAct, upstreams)
      // The labels come first: rules about labels are compiled with them.
      await labels?.start()
      await stop?.start()
      await watcher?.start()
    },
    close: async () => {
      clearInterval(checking)
      await Promise.all([labels?.close(), stop?.close(), watcher?.close()])
      isActive.close()
      ends.close()
      temporary.close()
    },
  }
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
