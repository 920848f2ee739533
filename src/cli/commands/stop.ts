import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import {
  environmentLabelFlag,
  parseProduction,
  parseProductionNames,
  productionFlags,
  productionNamesFlag,
} from '../flags/production.ts'
import {
  parseAllNamespaces,
  CLUSTER_FLAGS,
  type ClusterOptions,
  objectName,
  parseCluster,
} from '../kube/cluster-options.ts'
import { defineCommand } from '../flags/command.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { parseLabelSelector } from '../../rules/match/label-selector.ts'
import type { NamespaceCheck } from '../../cluster/kube/production-namespaces.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { parseDuration } from '../flags/units.ts'
import { badCombination, badOption } from '../flags/usage-error.ts'

const CLUSTER = 'The cluster:'

const COMMON_FLAGS = [
  ...CLUSTER_FLAGS,
  ...flagGroup(CLUSTER, {
    'all-namespaces': ['', 'every namespace that has sidecars now', { short: 'A' }],
    configmap: [
      'name',
      'ConfigMap of later pods, in addition to those that sidecars read now',
      { default: 'squall-rules' },
    ],
  }),
  ...flagGroup('Waiting and output:', {
    timeout: ['duration', 'how long to wait until every sidecar has confirmed', { default: '30s' }],
    'dry-run': 'validate every change with the API server, and change nothing',
    json: 'print the outcome as one JSON document',
  }),
  ...environmentLabelFlag(CLUSTER),
]

const STOP_FLAGS = [
  ...COMMON_FLAGS,
  ...flagGroup(CLUSTER, {
    production:
      'only namespaces that count as production now, by name or label: all of them, or that of --namespace',
  }),
  ...productionNamesFlag(CLUSTER),
]

const RESUME_FLAGS = [...COMMON_FLAGS, ...productionFlags(CLUSTER)]

type CommonFlag = (typeof COMMON_FLAGS)[number]['name']

export const STOP = defineCommand({
  name: 'stop',
  examples: ['stop -n shop', 'stop -A'],
  page: 'docs/guides/apply.md',
  description: 'end all faults of a namespace at once, also in later pods, until squall resume',
  flags: STOP_FLAGS,
  note: `
A stop key is written into the ConfigMaps that the sidecars read, with the credentials of your
kubeconfig. It overrides all rules, header faults and the admin API. The rules stay unchanged.`,
  parse: parseStop,
  start: async (request) => (await import('../kube/stop.ts')).stopCommand(request),
})

export const RESUME = defineCommand({
  name: 'resume',
  examples: ['resume -n shop', 'resume -A'],
  page: 'docs/guides/apply.md',
  description: 'let rules act again after squall stop',
  flags: RESUME_FLAGS,
  parse: parseResume,
  start: async (request) => (await import('../kube/stop.ts')).stopCommand(request),
})

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
  /** Selects the namespaces of production; undefined for all namespaces. */
  readonly onlyProduction: NamespaceCheck | undefined
  readonly environmentLabel: string
}

const TIMEOUT = { min: 1_000, max: 3_600_000 }

function parseStop(raw: RawFlags, env: Environment): StopRequest {
  const flags = new FlagValues(STOP_FLAGS, raw, env)
  const common = parseCommon(flags, raw, env)
  const patterns = parseProductionNames(flags)
  const isProduction = flags.switch('production')
  if (isProduction && common.cluster.selector !== undefined) {
    throw badCombination(
      '--production and --selector contradict each other',
      'leave one of the two out: --production stops all pods of a namespace',
    )
  }
  const { environmentLabel } = common
  return {
    action: 'stop',
    ...common,
    allNamespaces: common.allNamespaces || (isProduction && !raw.has('namespace')),
    production: undefined,
    onlyProduction: isProduction ? { patterns, environmentLabel } : undefined,
  }
}

function parseResume(raw: RawFlags, env: Environment): StopRequest {
  const flags = new FlagValues(RESUME_FLAGS, raw, env)
  const production = parseProduction(flags, env)
  const common = parseCommon(flags, raw, env)
  return { action: 'resume', ...common, production, onlyProduction: undefined }
}

function parseCommon(
  flags: FlagValues<CommonFlag>,
  raw: RawFlags,
  env: Environment,
): Omit<StopRequest, 'action' | 'production' | 'onlyProduction'> {
  const cluster = parseCluster(flags, env)
  const allNamespaces = parseAllNamespaces(flags, raw)
  const { selector } = cluster
  if (selector !== undefined && parseLabelSelector(selector) === undefined) {
    throw badOption(
      '--selector',
      `${quoted(selector)} is not a label selector`,
      'write app=shop, tier!=test, env in (a,b), canary or !canary, separated by commas',
    )
  }
  return {
    cluster,
    allNamespaces,
    configMap: objectName(flags.required('configmap')),
    timeoutMs: parseDuration(flags.required('timeout'), TIMEOUT),
    dryRun: flags.switch('dry-run'),
    json: flags.switch('json'),
    environmentLabel: flags.required('environment-label').text,
  }
}
