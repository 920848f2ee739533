import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { isKubeError } from '../../cluster/kube/kube-error.ts'
import {
  flagGroup,
  type Environment,
  type FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { parseReadToken, readTokenFlag } from '../flags/admin-access.ts'
import { badCombination, badFile, badValue, UsageError } from '../flags/usage-error.ts'
import { refuseProduction } from '../flags/production.ts'
import { metadataOf, NAMESPACES } from '../../cluster/kube/resources.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import { interruption } from '../long-running.ts'
import { readVersion } from '../version.ts'

/** Selects the cluster, and the pods in it. */
export interface ClusterOptions {
  readonly namespace: string | undefined
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly selector: string | undefined
  readonly prefix: string
  /** The read token of the sidecars, where they require one. */
  readonly readToken: string | undefined
  readonly env: Environment
}

/** Parses --all-namespaces. Throws a `UsageError` where --namespace is given as well. */
export function parseAllNamespaces(flags: FlagValues<'all-namespaces'>, raw: RawFlags): boolean {
  const all = flags.switch('all-namespaces')
  if (!all || !raw.has('namespace')) return all
  throw badCombination(
    '--all-namespaces and --namespace contradict each other',
    'leave one of the two out',
  )
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const PREFIX = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/$/
const MAX_SELECTOR = 2_000

/** Checks the options about the cluster. */
export function parseCluster(flags: FlagValues<ClusterFlag>, env: Environment): ClusterOptions {
  const selector = flags.optional('selector')
  const prefix = parseAnnotationPrefix(flags.required('annotation-prefix'))
  if (selector !== undefined && selector.text.length > MAX_SELECTOR) {
    throw new UsageError('BAD_VALUE', `${selector.source} is too long`, 'select by fewer labels')
  }
  return {
    namespace: flags.parsed('namespace', objectName),
    kubeconfig: flags.optional('kubeconfig')?.text,
    context: flags.optional('context')?.text,
    selector: selector?.text,
    prefix,
    readToken: parseReadToken(flags, env),
    env,
  }
}

/** Parses the prefix of annotations. Throws a `UsageError`. */
export function parseAnnotationPrefix(given: Given): string {
  if (PREFIX.test(given.text)) return given.text
  throw badValue(given, 'is not a prefix', 'write a domain and a slash, such as squall.dev/')
}

/** Parses the name of a Kubernetes object. Throws a `UsageError`. */
export function objectName(given: Given): string {
  if (NAME.test(given.text)) return given.text
  throw badValue(given, 'is not a name', 'use lower case letters, digits and dashes')
}

/** Connects to the cluster. Throws a `UsageError` for a kubeconfig that cannot be used. */
export async function clientFor({
  kubeconfig,
  context,
  env,
}: Pick<ClusterOptions, 'kubeconfig' | 'context' | 'env'>): Promise<KubeClient> {
  const { connectKube } = await import('../../cluster/kube/connect.ts')
  try {
    return connectKube({ kubeconfig, context, env, version: readVersion() })
  } catch (error) {
    if (!isKubeError(error, 'config')) throw error
    const [wrong = '', ...fix] = (error as Error).message.split('; ')
    throw badFile(wrong, fix.join('; ') || 'fix it')
  }
}

/** Runs a command until the first Ctrl-C; the second ends the program. */
export async function withClient(
  cluster: ClusterOptions,
  act: (client: KubeClient, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const client = await clientFor(cluster)
  const { signal, forget } = interruption(1, ['SIGINT', 'SIGTERM'])
  try {
    return await act(client, signal)
  } finally {
    forget()
    await client.close()
  }
}

/**
 * Refuses a namespace that counts as production by its name or its label. Throws a `UsageError`.
 * Without the right to read namespaces the name alone decides.
 */
export async function refuseProductionNamespace(
  client: KubeClient,
  namespace: string,
  {
    production,
    environmentLabel,
  }: { readonly production: ProductionCheck | undefined; readonly environmentLabel: string },
  signal: AbortSignal,
): Promise<void> {
  if (production === undefined) return
  refuseProduction(production, [{ where: 'the namespace', name: namespace }])
  const name = (await namespaceLabels(client, namespace, signal))?.[environmentLabel]
  const where = `the label ${environmentLabel} of the namespace ${namespace},`
  refuseProduction({ ...production, places: [] }, [{ where, name }])
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
export function annotationPrefixFlag(group: string) {
  return flagGroup(group, {
    'annotation-prefix': [
      'prefix',
      "prefix of the injector's annotations",
      { default: 'squall.dev/' },
    ],
  })
}

const CLUSTER = 'The cluster:'

/** The options of the commands that use the API server. */
export const CLUSTER_FLAGS = [
  ...flagGroup(CLUSTER, {
    namespace: ['name', 'namespace to work in (default: that of the context)', { short: 'n' }],
    kubeconfig: [
      'file',
      'kubeconfig to use (default: those of KUBECONFIG, or ~/.kube/config, or the service account of the pod)',
    ],
    context: ['name', 'context of the kubeconfig (default: the current one)'],
    selector: ['labels', 'only pods with these labels, as in app=shop,tier!=test', { short: 'l' }],
  }),
  ...annotationPrefixFlag(CLUSTER),
  ...readTokenFlag(CLUSTER),
]

type ClusterFlag = (typeof CLUSTER_FLAGS)[number]['name']
