import type { AdminEndpoint } from '#admin-api'
import { quoted } from '#base'
import { parseLabelSelector } from '#rules'
import {
  adminTokenOf,
  type Context,
  environmentLabelFlag,
  type FlagInput,
  group,
  invalidCombination,
  invalidOption,
  missing,
  namedFlags,
  one,
  operation,
  productionFlags,
  productionNamesFlag,
  productionOf,
  type RequestOf,
  SIDECAR_FLAGS,
  type SidecarChange,
  toggle,
  type Values,
} from '#cli'
import {
  BUDGET_FLAGS,
  CLUSTER_FLAGS,
  CONTEXTS_FLAG,
  isEveryNamespace,
  parseObjectName,
  rolloutOf,
  UNLABELLED_FLAG,
  waitFlags,
} from '../cli/cluster-options.ts'

const CLUSTER = 'The cluster:'
const SIDECARS = 'Sidecars:'
const SHARED: readonly string[] = ['timeout', 'json']
/** As the admin API takes it. */
const REASON = /^(?=\s*\S).{1,200}$/u

const COMMON_FLAGS = {
  ...SIDECAR_FLAGS,
  ...CLUSTER_FLAGS,
  ...CONTEXTS_FLAG,
  ...UNLABELLED_FLAG,
  ...group(CLUSTER, {
    allNamespaces: toggle('act on every namespace that has sidecars now', { short: 'A' }),
    configmap: one(
      'name',
      'ConfigMap that new pods read, in addition to the ConfigMaps that sidecars read now',
      parseObjectName,
      { default: 'squall-rules' },
    ),
  }),
  ...waitFlags('timeout for all sidecars to confirm; 120s with --confirm, unless set', '30s', {
    dryRun: toggle('validate every change with the API server, without changing anything'),
  }),
  ...environmentLabelFlag(CLUSTER),
}

export const STOP = operation({
  name: 'stop',
  examples: ['stop', 'stop -t 127.0.0.1:15390 -t 127.0.0.1:15391', 'stop -n shop', 'stop -A'],
  page: 'docs/guides/apply.md',
  description: 'stop all faults at once, in single sidecars or in a namespace, until squall resume',
  flags: {
    ...COMMON_FLAGS,
    ...group(SIDECARS, {
      reason: one(
        'text',
        'reason for the stop, shown in logs, admin page and admin API',
        parseReason,
      ),
    }),
    ...group(CLUSTER, {
      production: toggle(
        'stop only namespaces that are production by name or label and do not allow it by annotation: all of them, or that of --namespace',
      ),
    }),
    ...productionNamesFlag(CLUSTER),
  },
  note: `
With -n or another cluster flag, the command writes a stop key into the ConfigMaps of the sidecars, with
the credentials of your kubeconfig. The key overrides all rules, header faults and the admin API, also
in new pods. Otherwise, the command disarms sidecars through their admin ports, with the admin token.
The rules stay unchanged. Exit code: 1 if a sidecar did not confirm.`,
  parse: ({ production, productionNames: patterns, ...flags }, context) => {
    const change = localChange('disarm', { ...flags, production }, context, flags.reason)
    if (change !== undefined) return change
    const common = commonOf(flags, context)
    if (production && common.cluster.selector !== undefined) {
      throw invalidCombination(
        '--production and --selector are mutually exclusive',
        'remove one of them: --production stops all pods of a namespace',
      )
    }
    const { environmentLabel } = common
    return {
      action: 'stop' as const,
      ...common,
      force: false,
      allNamespaces: common.allNamespaces || (production && !context.sets('namespace')),
      production: undefined,
      budget: undefined,
      onlyProduction: production ? { patterns, environmentLabel } : undefined,
    }
  },
})

export const RESUME = operation({
  name: 'resume',
  examples: ['resume', 'resume -t 127.0.0.1:15390', 'resume -n shop', 'resume -A'],
  page: 'docs/guides/apply.md',
  description: 'arm sidecars again after squall stop',
  flags: {
    ...COMMON_FLAGS,
    ...productionFlags(CLUSTER),
    ...BUDGET_FLAGS,
    ...group(CLUSTER, { force: toggle('resume even if an experiment has claimed the ConfigMap') }),
  },
  parse: (flags, context) =>
    localChange('arm', flags, context) ?? {
      action: 'resume' as const,
      force: flags.force,
      ...commonOf(flags, context),
      production: productionOf(flags, context.env),
      budget: flags,
      onlyProduction: undefined,
    },
})

/** A stop in a cluster, or the change of sidecars by their admin ports. */
export type AnyStopRequest = RequestOf<typeof STOP> | RequestOf<typeof RESUME>
export type StopRequest = Extract<AnyStopRequest, { readonly action: string }>

/** Flags, with that of `squall stop` alone. */
type Choice = Values<typeof COMMON_FLAGS> & { readonly production?: boolean }

/** Returns the change of sidecars that are named, or of that of this machine; none in a cluster. */
function localChange(
  what: SidecarChange['what'],
  flags: Choice,
  { env, names }: Context,
  reason = 'by squall stop',
): { endpoints: readonly AdminEndpoint[]; change: SidecarChange; json: boolean } | undefined {
  const given = namedFlags((what === 'arm' ? RESUME : STOP).flags).filter(
    ({ name }) => names(name) && !SHARED.includes(name),
  )
  const local = given.find((flag) => flag.group === SIDECARS)?.name
  const cluster = given.find((flag) => flag.group !== SIDECARS)?.name
  if (local !== undefined && cluster !== undefined) {
    throw invalidCombination(
      `--${local} and --${cluster} are mutually exclusive`,
      'use -t for sidecars by their admin ports, or -n for a namespace of a cluster',
    )
  }
  if (cluster !== undefined || (local === undefined && choosesCluster(flags))) return undefined
  const { sidecar: endpoints, adminTokenFile, timeout, json } = flags
  const token = adminTokenOf(adminTokenFile, env)
  if (token === undefined) {
    throw missing(
      'no admin token',
      'set SQUALL_ADMIN_TOKEN or --admin-token-file to the token of the sidecar, or use -n NAMESPACE for a cluster',
    )
  }
  return { endpoints, json, change: { what, token, timeout, reason } }
}

/** Returns true where a flag or its variable says which cluster, or which pods of it. */
function choosesCluster({ allNamespaces, dryRun, production = false, ...flags }: Choice): boolean {
  const { namespace, context, contexts, kubeconfig, selector } = flags
  const named = namespace ?? context ?? contexts ?? kubeconfig ?? selector
  return allNamespaces || dryRun || production || named !== undefined
}

function parseReason({ text, source }: FlagInput): string {
  if (REASON.test(text)) return text
  throw invalidOption(
    source,
    'is empty, longer than 200 characters, or more than one line',
    'write one line of 1 to 200 characters',
  )
}

function commonOf(flags: Values<typeof COMMON_FLAGS>, context: Context) {
  const common = rolloutOf(flags, context)
  const { selector } = common.cluster
  if (selector !== undefined && parseLabelSelector(selector) === undefined) {
    throw invalidOption(
      '--selector',
      `invalid label selector ${quoted(selector)}`,
      'write app=shop, tier!=test, env in (a,b), canary or !canary, separated by commas',
    )
  }
  const allNamespaces = isEveryNamespace(flags, context)
  return { ...common, allNamespaces, configMap: flags.configmap }
}
