import { quoted } from '#base'
import { parseLabelSelector } from '#rules'
import {
  type Context,
  defineCommand,
  environmentLabelFlag,
  group,
  invalidCombination,
  invalidOption,
  one,
  productionFlags,
  productionNamesFlag,
  productionOf,
  toggle,
  type Values,
} from '#cli'
import {
  CLUSTER_FLAGS,
  isEveryNamespace,
  parseObjectName,
  rolloutOf,
  UNLABELLED_FLAG,
  waitFlags,
} from '../cli/cluster-options.ts'
import type { StopRequest } from '../cli/stop-output.ts'

const CLUSTER = 'The cluster:'

const COMMON_FLAGS = {
  ...CLUSTER_FLAGS,
  ...UNLABELLED_FLAG,
  ...group(CLUSTER, {
    allNamespaces: toggle('every namespace that has sidecars now', { short: 'A' }),
    configmap: one(
      'name',
      'ConfigMap of later pods, in addition to those that sidecars read now',
      parseObjectName,
      { default: 'squall-rules' },
    ),
  }),
  ...waitFlags('time limit for waiting until every sidecar has confirmed', '30s', {
    dryRun: toggle('validate every change with the API server, and change nothing'),
  }),
  ...environmentLabelFlag(CLUSTER),
}

export const STOP = defineCommand({
  name: 'stop',
  examples: ['stop -n shop', 'stop -A'],
  page: 'docs/guides/apply.md',
  description: 'end all faults of a namespace at once, also in later pods, until squall resume',
  flags: {
    ...COMMON_FLAGS,
    ...group(CLUSTER, {
      production: toggle(
        'only namespaces that count as production now, by name or label: all of them, or that of --namespace',
      ),
    }),
    ...productionNamesFlag(CLUSTER),
  },
  note: `
A stop key is written into the ConfigMaps that the sidecars read, with the credentials of your
kubeconfig. It overrides all rules, header faults and the admin API. The rules stay unchanged.`,
  parse: ({ production, productionNames: patterns, ...flags }, context): StopRequest => {
    const common = commonOf(flags, context)
    if (production && common.cluster.selector !== undefined) {
      throw invalidCombination(
        '--production and --selector contradict each other',
        'remove one of them: --production stops all pods of a namespace',
      )
    }
    const { environmentLabel } = common
    return {
      action: 'stop',
      ...common,
      force: false,
      allNamespaces: common.allNamespaces || (production && !context.names('namespace')),
      production: undefined,
      onlyProduction: production ? { patterns, environmentLabel } : undefined,
    }
  },
  start,
})

export const RESUME = defineCommand({
  name: 'resume',
  examples: ['resume -n shop', 'resume -A'],
  page: 'docs/guides/apply.md',
  description: 'let rules act again after squall stop',
  flags: {
    ...COMMON_FLAGS,
    ...productionFlags(CLUSTER),
    ...group(CLUSTER, { force: toggle('resume although an experiment has claimed the ConfigMap') }),
  },
  parse: (flags, context): StopRequest => ({
    action: 'resume',
    force: flags.force,
    ...commonOf(flags, context),
    production: productionOf(flags, context.env),
    onlyProduction: undefined,
  }),
  start,
})

async function start(request: StopRequest): Promise<number> {
  return (await import('../cli/stop.ts')).stopCommand(request)
}

function commonOf(flags: Values<typeof COMMON_FLAGS>, context: Context) {
  const common = rolloutOf(flags, context)
  const { selector } = common.cluster
  if (selector !== undefined && parseLabelSelector(selector) === undefined) {
    throw invalidOption(
      '--selector',
      `${quoted(selector)} is not a label selector`,
      'write app=shop, tier!=test, env in (a,b), canary or !canary, separated by commas',
    )
  }
  const allNamespaces = isEveryNamespace(flags, context)
  return { ...common, allNamespaces, configMap: flags.configmap }
}
