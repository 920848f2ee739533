import type { Fields } from '#base'
import { configMapKeys, expectedDigest } from './config-map-rules.ts'
import { findBypasses, podWarnings } from './bypassed-pods.ts'
import { inParallel } from './in-parallel.ts'
import { type InjectedPod, listInjectedPods, type PodScope } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError } from './kube-error.ts'
import { CONFIG_MAPS, type Limits } from './resources.ts'
import { clockProblem } from './node-clock.ts'
import { API, type Rule, type State } from '#admin-api'
import { type AskOptions, askSidecar } from './sidecar-api.ts'

export interface SidecarReport {
  readonly pod: InjectedPod
  /** Undefined when the sidecar could not be asked. */
  readonly state: State | undefined
  readonly rules: readonly Rule[]
  /** The reason why the sidecar could not be asked. */
  readonly trouble: string | undefined
  /** `other` when its rules are not those of its ConfigMap. */
  readonly digest: 'current' | 'other' | 'unknown'
  /** Describes a clock that differs from that of the API server. */
  readonly clock?: string | undefined
  /** Warnings of the injector, and Services that lead past the sidecar now. */
  readonly warnings: readonly string[]
}

/**
 * Asks every sidecar of a namespace, or of all, for its state and rules. `servicesTrouble` is the
 * reason why Services could not be read.
 */
export async function sidecarOverview(
  client: KubeClient,
  scope: Omit<PodScope, 'unlabelled'> & Pick<AskOptions, 'readToken'>,
  { signal }: Limits,
) {
  // Pods that should have a sidecar and have none have no label either.
  const pods = await listInjectedPods(client, { ...scope, unlabelled: true }, { signal })
  const expected = expectedDigests(client, { signal })
  const bypasses = await findBypasses(client, pods, scope.prefix, { signal })
  const options = { signal, readToken: scope.readToken }
  const reports = await inParallel(pods, async (pod) => ({
    ...(await report(client, pod, await expected(pod), options)),
    warnings: podWarnings(pod, bypasses),
  }))
  return { reports, servicesTrouble: bypasses.trouble }
}

async function report(
  client: KubeClient,
  pod: InjectedPod,
  expected: string | undefined,
  options: AskOptions,
): Promise<Omit<SidecarReport, 'warnings'>> {
  const nothing = { pod, state: undefined, rules: [], digest: 'unknown' } as const
  if (pod.sidecar !== 'running') return { ...nothing, trouble: TROUBLE[pod.sidecar] }
  try {
    const state = await askSidecar(client, pod, API.state, options)
    const { rules } = await askSidecar(client, pod, API.rules, options)
    const clock = clockProblem(state, client.now())
    return { pod, state, rules, trouble: undefined, clock, digest: compared(state, expected) }
  } catch (error) {
    return { ...nothing, trouble: asKubeError(error).message }
  }
}

function compared({ rules, lastReload }: State, expected?: string): SidecarReport['digest'] {
  const known = [rules.digest, lastReload?.digest].filter((each) => typeof each === 'string')
  if (expected === undefined || known.length === 0) return 'unknown'
  return known.includes(expected) && lastReload?.result !== 'rejected' ? 'current' : 'other'
}

const TROUBLE = {
  starting: 'its sidecar is not running yet',
  ended: 'the pod has terminated',
  absent:
    'the requested sidecar is missing: the pod was created while the webhook was down, so delete the pod to recreate it; or the webhook leaves the pod unchanged, for example in a production or excluded namespace',
} as const

/**
 * Finds the digest that a sidecar should have; undefined without the right to read its ConfigMap.
 */
function expectedDigests(
  client: KubeClient,
  limits: Limits,
): (pod: InjectedPod) => Promise<string | undefined> {
  const reads = new Map<string, Promise<Fields>>()
  return async ({ namespace, rules }) => {
    if (rules === undefined) return undefined
    const ref = { kind: CONFIG_MAPS, namespace, name: rules.configMap }
    const key = `${namespace}/${rules.configMap}`
    const read = reads.get(key) ?? client.get(ref, limits)
    reads.set(key, read)
    try {
      return expectedDigest(configMapKeys(await read), rules)
    } catch (error) {
      if (isKubeError(error, 'not_found', 'forbidden')) return undefined
      throw error
    }
  }
}
