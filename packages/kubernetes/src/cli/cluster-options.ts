import { objectName } from '../injector/value-checks.ts'
import { PREFIX, RULES_CONFIG_MAP } from '../injector/injected-names.ts'
import type { ClusterChoice } from '../kube/connect.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { askBudget, type BudgetOptions, sawBudget, SYSTEM_NAMESPACE } from '../kube/budget.ts'
import { isKubeError } from '../kube/kube-error.ts'
import {
  asText,
  type Context,
  duration,
  elementsOf,
  type FlagInput,
  group,
  invalidCombination,
  invalidFile,
  invalidOption,
  invalidValue,
  type Kind,
  many,
  one,
  percent,
  readTokenFlag,
  readTokenOf,
  rejectProduction,
  toggle,
  UsageError,
  type Values,
} from '#cli'
import { interruption, readVersion, shellWord } from '#base'
import { inParallel } from '../kube/in-parallel.ts'
import { CONFIG_MAPS, metadataOf, type NamedRef, NAMESPACES } from '../kube/resources.ts'
import type { ProductionCheck } from '#rules'

/** Selects the cluster, and the pods in it. */
export interface ClusterOptions extends ClusterChoice {
  readonly namespace: string | undefined
  /** The contexts of a command for several clusters. */
  readonly contexts?: readonly string[] | undefined
  readonly selector: string | undefined
  readonly prefix: string
  /** The read token of the sidecars, where they require one. */
  readonly readToken: string | undefined
}

/**
 * Returns the value of --all-namespaces. Throws a `UsageError` where the command line has
 * --namespace as well.
 */
export function isEveryNamespace(
  { allNamespaces }: { readonly allNamespaces: boolean },
  { names }: Context,
): boolean {
  if (!allNamespaces || !names('namespace')) return allNamespaces
  // A flag goes before a variable.
  if (!names('all-namespaces')) return false
  throw invalidCombination(
    '--all-namespaces and --namespace are mutually exclusive',
    'remove one of them',
  )
}

const PREFIX_FORM = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/$/
const MAX_SELECTOR = 2_000

/** Returns the options about the cluster. */
export function clusterOf(
  {
    namespace,
    kubeconfig,
    context,
    selector,
    annotationPrefix: prefix,
    adminReadTokenFile,
    contexts,
    as,
    asGroup: asGroups,
  }: Omit<Values<typeof CLUSTER_FLAGS>, 'selector'> &
    Several & { readonly selector?: string | undefined },
  { env, names }: Context,
): ClusterOptions {
  const readToken = readTokenOf(adminReadTokenFile, env)
  return {
    namespace,
    kubeconfig,
    // A flag goes before a variable.
    context: names('contexts') && !names('context') ? undefined : context,
    contexts: names('context') && !names('contexts') ? undefined : contexts,
    as,
    asGroups,
    selector,
    prefix,
    readToken,
    env,
  }
}

/** Returns the flags by which a suggested kubectl reaches the same cluster as the same user. */
export function kubectlFlags({ kubeconfig, context, as, asGroups = [] }: ClusterChoice): string {
  const groups = asGroups.map((each) => flagsText({ 'as-group': each })).join('')
  return `${flagsText({ kubeconfig, context, as })}${groups}`
}

/** Returns the flags by which a suggested command of Squall finds the same sidecars. */
export function clusterFlags({ prefix, ...choice }: ClusterOptions): string {
  const more = { 'annotation-prefix': prefix === PREFIX ? undefined : prefix }
  return `${kubectlFlags(choice)}${flagsText(more)}`
}

/** Returns the flags by which `squall resume` finds the ConfigMaps that a stop was written into. */
export function resumeFlags(
  cluster: ClusterOptions,
  configMap: string,
  unlabelled: boolean,
): string {
  const more = flagsText({ configmap: configMap === RULES_CONFIG_MAP ? undefined : configMap })
  return `${clusterFlags(cluster)}${more}${unlabelled ? ' --unlabelled' : ''}`
}

function flagsText(flags: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  return given.map(([name, value = '']) => ` --${name} ${shellWord(value)}`).join('')
}

function parseSelector({ text, source }: FlagInput): string {
  if (text.length <= MAX_SELECTOR) return text
  throw new UsageError('INVALID_VALUE', `${source} is too long`, 'select by fewer labels')
}

function parsePrefix(given: FlagInput): string {
  if (PREFIX_FORM.test(given.text)) return given.text
  throw invalidValue(
    given,
    'is not a valid prefix',
    'use a domain and a slash, such as squall.dev/',
  )
}

/** Parses the name of a Kubernetes object. Throws a `UsageError`. */
export function parseObjectName(given: FlagInput): string {
  const fix = objectName(given.text)
  if (fix === undefined) return given.text
  throw invalidValue(given, 'is not a valid name', fix)
}

/** Parses the minor number of a version as clusters write it: `1.33`, `v1.33.2-gke.1`. */
export function parseMinor(given: FlagInput): number {
  const match = /^v?1\.(\d{1,3})\+?(?:[.+-].{0,100})?$/.exec(given.text)
  if (match !== null) return Number(match[1])
  throw invalidValue(
    given,
    'is not a valid Kubernetes version',
    'use a version such as 1.33 or v1.33.2',
  )
}

/** Connects to the cluster. Throws a `UsageError` for a kubeconfig that cannot be used. */
export async function clientFor(choice: ClusterChoice, patienceMs?: number): Promise<KubeClient> {
  const { connectKube } = await import('../kube/connect.ts')
  try {
    return connectKube({ ...choice, patienceMs, version: readVersion() })
  } catch (error) {
    if (!isKubeError(error, 'config')) throw error
    const [wrong = '', ...fix] = (error as Error).message.split('; ')
    throw invalidFile(wrong, fix.join('; ') || 'fix it')
  }
}

/**
 * Runs a command until the first Ctrl-C; the second ends the program. Requests that the API server
 * did not serve are repeated for `patienceMs`.
 */
export async function withClient(
  cluster: ClusterOptions,
  act: (client: KubeClient, signal: AbortSignal) => Promise<number>,
  patienceMs = 0,
): Promise<number> {
  const client = await clientFor(cluster, patienceMs)
  const { signal, forget } = interruption(1, ['SIGINT', 'SIGTERM'])
  try {
    return await act(client, signal)
  } finally {
    forget()
    await client.close()
  }
}

/**
 * Rejects a namespace that counts as production by its name or its label. Throws a `UsageError`.
 * Without the right to read namespaces the name alone decides.
 */
export async function rejectProductionNamespace(
  client: KubeClient,
  namespace: string,
  {
    production,
    environmentLabel,
  }: { readonly production: ProductionCheck | undefined; readonly environmentLabel: string },
  signal: AbortSignal,
): Promise<void> {
  if (production === undefined) return
  rejectProduction(production, [{ where: 'the namespace', name: namespace }])
  const name = (await namespaceLabels(client, namespace, signal))?.[environmentLabel]
  const where = `the label ${environmentLabel} of the namespace ${namespace},`
  rejectProduction({ ...production, names: [] }, [{ where, name }])
}

/** Returns the labels of a namespace; undefined where they cannot be read. */
export async function namespaceLabels(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const object = await client.get({ kind: NAMESPACES, name: namespace }, { signal })
    return metadataOf(object).labels
  } catch (error) {
    if (isKubeError(error, 'forbidden', 'not_found')) return undefined
    throw error
  }
}

/** Declares the option for the prefix of the injector's annotations. */
export function annotationPrefixFlag(title: string) {
  return group(title, {
    annotationPrefix: one('prefix', "prefix of the injector's annotations", parsePrefix, {
      default: PREFIX,
    }),
  })
}

const CLUSTER = 'The cluster:'

/** The options of the commands that use the API server. */
export const CLUSTER_FLAGS = {
  ...group(CLUSTER, {
    namespace: one('name', 'namespace to work in (default: from the context)', parseObjectName, {
      short: 'n',
    }),
    kubeconfig: one(
      'file',
      "kubeconfig to use (default: KUBECONFIG, the pod's service account, or ~/.kube/config)",
      asText,
    ),
    context: one('name', 'kubeconfig context (default: the current one)', asText),
    as: one('user', 'user to impersonate', asText),
    asGroup: many('group', 'group to impersonate, with --as', (all) => all.map(asText)),
    selector: one(
      'labels',
      'select only pods with these labels, such as app=shop,tier!=test',
      parseSelector,
      { short: 'l' },
    ),
  }),
  ...annotationPrefixFlag(CLUSTER),
  ...readTokenFlag(CLUSTER),
}

type Several = Partial<Values<typeof CONTEXTS_FLAG>>

/** The option of the commands for several clusters. */
export const CONTEXTS_FLAG = group(CLUSTER, {
  contexts: many('names', 'kubeconfig contexts, separated by commas', (all) => {
    const names = elementsOf(all, 'write the names of contexts, as in east,west')
    return names && [...new Set(names.map(asText))]
  }),
})

/** The options of the commands that begin chaos. */
export const BUDGET_FLAGS = group(CLUSTER, {
  systemNamespace: one(
    'name',
    'namespace of the ConfigMap squall-budget, which limits new faults and experiments',
    parseObjectName,
    { default: SYSTEM_NAMESPACE },
  ),
  requireBudget: toggle(
    'do not start new faults if squall-budget does not exist or cannot be read',
  ),
})

/** Rejects new chaos that the budget of the cluster does not allow. Throws a `UsageError`. */
export async function rejectOverBudget(
  client: KubeClient,
  budget: BudgetOptions,
  chaos: { readonly namespace: string; readonly prefix: string; readonly wasSeen: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const { denial, isThere } = await askBudget(client, budget, chaos, { signal })
  if (denial === undefined) return isThere
  throw new UsageError('OVER_BUDGET', denial, 'wait, or ask who set it; squall stop always works')
}

/** Returns true where a ConfigMap with rules notes a budget, as far as they can be read. */
export async function sawBudgetIn(
  client: KubeClient,
  refs: readonly NamedRef[],
  prefix: string,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await inParallel(refs, (ref) =>
    client.find({ kind: CONFIG_MAPS, ...ref }, { signal }).catch((error: unknown) => {
      if (isKubeError(error, 'forbidden')) return undefined
      throw error
    }),
  )
  return found.some((configMap) => sawBudget(configMap, prefix))
}

/** The option of the commands that list pods by the label of the injector. */
export const UNLABELLED_FLAG = group(CLUSTER, {
  unlabelled: toggle('search all pods, including sidecars without the label squall.dev/sidecar'),
})

/** Declares the options of a command that waits until sidecars follow, with one of its own. */
export function waitFlags<More extends Readonly<Record<string, Kind<boolean>>>>(
  help: string,
  timeout: string,
  more: More,
) {
  return group('Waiting and output:', {
    timeout: duration(help, { min: 1_000, max: 3_600_000 }, timeout),
    min: percent('minimum percentage of pods that must confirm', { min: 1, max: 100 }, '100%'),
    all: toggle('list all pods, even if there are more than 40'),
    confirm: one(
      'prometheus=url',
      'confirm through a Prometheus server that scrapes the sidecars, and query at most 20 pods directly at a time, or all if Prometheus fails or contradicts a sidecar; select series with labels such as ?cluster=eu',
      parseConfirm,
    ),
    ...more,
    json: toggle('print one JSON document'),
  })
}

function parseConfirm({ text, source }: FlagInput): URL {
  const address = /^prometheus=(https?:.*)$/.exec(text)?.[1] ?? ''
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url?.username === '' && url.password === '') return url
  // The text may hold a password, so it is not repeated.
  throw invalidOption(
    source,
    'expected prometheus= and an http URL without a password',
    'write prometheus=http://prometheus.monitoring:9090; a token is read from SQUALL_MONITOR_TOKEN',
  )
}

type RolloutFlags = Values<
  typeof CLUSTER_FLAGS & typeof UNLABELLED_FLAG & ReturnType<typeof waitFlags<{}>>
> &
  Several & { readonly dryRun: boolean; readonly environmentLabel: string }

export type RolloutRequest = ReturnType<typeof rolloutOf>

/** Returns the options of a command that waits until sidecars follow. */
export function rolloutOf(flags: RolloutFlags, context: Context) {
  const { timeout, unlabelled, min, all, confirm, json, dryRun, environmentLabel } = flags
  const cluster = clusterOf(flags, context)
  const timeoutMs = confirm && !context.sets('timeout') ? 120_000 : timeout
  return { cluster, timeoutMs, unlabelled, min, all, confirm, json, dryRun, environmentLabel }
}
