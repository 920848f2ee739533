import { quoted } from '../../base/text/foreign-text.ts'
import { parseLabelSelector } from '../../rules/match/label-selector.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseProduction } from '../flags/production.ts'
import { parseDuration } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { type ClusterOptions, objectName, parseCluster } from './cluster-options.ts'
import { RESUME_FLAGS, type ResumeFlag, STOP_FLAGS, type StopFlag } from './stop-flags.ts'

/** The options of `squall stop` and `squall resume`. */
export interface StopRequest {
  readonly action: 'stop' | 'resume'
  readonly cluster: ClusterOptions
  readonly allNamespaces: boolean
  readonly configMap: string
  readonly timeoutMs: number
  readonly dryRun: boolean
  readonly json: boolean
  /** Undefined where no namespace is refused. */
  readonly production: ProductionCheck | undefined
  readonly environmentLabel: string
}

const TIMEOUT = { min: 1_000, max: 3_600_000 }

/** Checks the command line of `squall stop`. Throws nothing but a `UsageError`. */
export function parseStop(raw: RawFlags, env: Environment): StopRequest {
  const flags = new FlagValues<StopFlag>(STOP_FLAGS, raw, env)
  const rest = { production: undefined, environmentLabel: '' }
  return { action: 'stop', ...parseCommon(flags, raw, env), ...rest }
}

/** Checks the command line of `squall resume`. Throws nothing but a `UsageError`. */
export function parseResume(raw: RawFlags, env: Environment): StopRequest {
  const flags = new FlagValues<ResumeFlag>(RESUME_FLAGS, raw, env)
  const environmentLabel = flags.required('environment-label').text
  const production = parseProduction(flags, env)
  return { action: 'resume', ...parseCommon(flags, raw, env), production, environmentLabel }
}

function parseCommon(
  flags: FlagValues<StopFlag>,
  raw: RawFlags,
  env: Environment,
): Omit<StopRequest, 'action' | 'production' | 'environmentLabel'> {
  const cluster = parseCluster(flags, env)
  const allNamespaces = flags.switch('all-namespaces')
  if (allNamespaces && raw.has('namespace')) {
    throw new UsageError(
      'BAD_COMBINATION',
      '--all-namespaces and --namespace contradict each other',
      'leave one of the two out',
    )
  }
  const { selector } = cluster
  if (selector !== undefined && parseLabelSelector(selector) === undefined) {
    throw new UsageError(
      'BAD_VALUE',
      `--selector: ${quoted(selector)} is no label selector`,
      'write app=shop, tier!=test, env in (a,b), canary or !canary, separated by commas',
    )
  }
  const timeout = flags.required('timeout')
  return {
    cluster,
    allNamespaces,
    configMap: objectName(flags.required('configmap')),
    timeoutMs: parseDuration(timeout.text, timeout.source, TIMEOUT),
    dryRun: flags.switch('dry-run'),
    json: flags.switch('json'),
  }
}
