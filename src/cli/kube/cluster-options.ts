import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { isKubeError } from '../../cluster/kube/kube-error.ts'
import { flagGroup, type Environment, type FlagValues, type Given } from '../flags/flag-values.ts'
import { parseAnnotationPrefix } from '../flags/annotation-prefix.ts'
import { parseReadToken, readTokenFlag } from '../flags/admin-access.ts'
import { badValue, UsageError } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'

/** Which cluster, and what of it. */
export interface ClusterOptions {
  readonly namespace: string | undefined
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly selector: string | undefined
  readonly prefix: string
  /** The read token of the sidecars, where they ask for one. */
  readonly readToken: string | undefined
  readonly env: Environment
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
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

/** The name of something that the API server keeps. */
export function objectName({ text, source }: Given): string {
  if (NAME.test(text)) return text
  throw badValue({ text, source }, 'is no name', 'use lower case letters, digits and dashes')
}

/** A client for what was asked for; a kubeconfig that cannot be used is bad usage. */
export async function clientFor({ kubeconfig, context, env }: ClusterOptions): Promise<KubeClient> {
  const { connectKube } = await import('../../cluster/kube/connect.ts')
  try {
    return connectKube({ kubeconfig, context, env, version: readVersion() })
  } catch (error) {
    if (!isKubeError(error, 'config')) throw error
    const [wrong = '', ...fix] = (error as Error).message.split('; ')
    throw new UsageError('BAD_FILE', wrong, fix.join('; ') || 'fix it')
  }
}

/** Ends a wait at the first Ctrl-C; the second ends the program. */
export function onInterrupt(): { readonly signal: AbortSignal; readonly release: () => void } {
  const stop = new AbortController()
  const asked = (): void => {
    if (stop.signal.aborted) process.exit(1)
    stop.abort()
  }
  process.on('SIGINT', asked)
  process.on('SIGTERM', asked)
  return {
    signal: stop.signal,
    release: () => {
      process.off('SIGINT', asked)
      process.off('SIGTERM', asked)
    },
  }
}

const CLUSTER = 'The cluster:'

/** The options of every command that speaks to a cluster. */
export const CLUSTER_FLAGS = [
  ...flagGroup(CLUSTER, {
    namespace: ['name', 'namespace to work in (default: that of the context)', { short: 'n' }],
    kubeconfig: [
      'file',
      'kubeconfig to use (default: those of KUBECONFIG, or ~/.kube/config, or the service account of the pod)',
    ],
    context: ['name', 'context of it (default: its current one)'],
    selector: ['labels', 'only pods with these labels, as in app=shop,tier!=test', { short: 'l' }],
    'annotation-prefix': [
      'prefix',
      'what the annotations of the injector begin with',
      { default: 'squall.dev/' },
    ],
  }),
  ...readTokenFlag(CLUSTER),
]

/** The name of such an option. */
export type ClusterFlag = (typeof CLUSTER_FLAGS)[number]['name']
