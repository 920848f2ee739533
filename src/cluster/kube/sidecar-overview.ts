import { configMapKeys, expectedDigest } from './config-map-rules.ts'
import { findBypasses, podWarnings } from './bypassed-pods.ts'
import { inParallel } from './in-parallel.ts'
import { type InjectedPod, readInjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { isKubeError, KubeError } from './kube-error.ts'
import { CONFIG_MAPS, getResource, type Limits, listResources, PODS } from './resources.ts'
import type { Rule, State } from '../../admin/api.ts'
import { type AskOptions, sidecarRules, sidecarState } from './sidecar-api.ts'

/** A pod with what its sidecar says. */
export interface SidecarReport {
  readonly pod: InjectedPod
  /** Undefined when it could not be asked. */
  readonly state: State | undefined
  readonly rules: readonly Rule[]
  /** Why it could not be asked. */
  readonly trouble: string | undefined
  /** `other` when its rules are not those of its ConfigMap. */
  readonly digest: 'current' | 'other' | 'unknown'
  /** Warnings of the injector, and Services that lead past the sidecar now. */
  readonly warnings: readonly string[]
}

/** All sidecars in reach. */
export interface SidecarOverview {
  readonly reports: readonly SidecarReport[]
  /** Why Services could not be read. */
  readonly servicesTrouble: string | undefined
}

/** Selects the sidecars. */
export interface OverviewScope {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly prefix: string
  /** The read token, for sidecars that ask for one. */
  readonly readToken?: string | undefined
}

const AT_A_TIME = 8
const ASK_MS = 3_000

/** Asks every sidecar in reach how it is. */
export async function sidecarOverview(
  client: KubeClient,
  { namespace, selector, prefix, readToken }: OverviewScope,
  { signal }: Limits,
): Promise<SidecarOverview> {
  const found = await listResources(client, { kind: PODS, namespace }, selector, { signal })
  const pods = found
    .map((pod) => readInjectedPod(pod, prefix))
    .filter((pod) => pod !== undefined)
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  const expected = await expectedDigests(client, pods, { signal })
  const bypasses = await findBypasses(client, pods, prefix, { signal })
  const reports = await inParallel(pods, AT_A_TIME, async (pod) => ({
    ...(await report(client, pod, expected.get(pod), { signal, readToken })),
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
  const limits = { ...options, timeoutMs: ASK_MS }
  try {
    const state = await sidecarState(client, pod, limits)
    const rules = await sidecarRules(client, pod, limits)
    const has = state.rules.digest ?? state.lastReload?.digest
    const digest =
      expected === undefined || has === undefined
        ? 'unknown'
        : state.rules.digest === expected || state.lastReload?.digest === expected
          ? state.lastReload?.result === 'rejected'
            ? 'other'
            : 'current'
          : 'other'
    return { pod, state, rules, trouble: undefined, digest }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    return { ...nothing, trouble: error.message }
  }
}

const TROUBLE = {
  starting: 'its sidecar does not run yet',
  ended: 'the pod has ended',
  absent:
    'it asks for a sidecar and has none: it was made while the webhook was away; delete the pod so that it is made again',
} as const

/** Returns the digest that each sidecar should have. Unknown without the right to read ConfigMaps. */
async function expectedDigests(
  client: KubeClient,
  pods: readonly InjectedPod[],
  limits: Limits,
): Promise<ReadonlyMap<InjectedPod, string | undefined>> {
  const places = new Map(
    pods.flatMap(({ namespace, rules }) =>
      rules === undefined
        ? []
        : [[`${namespace}/${rules.configMap}`, { namespace, name: rules.configMap }] as const],
    ),
  )
  const read = await inParallel([...places], AT_A_TIME, async ([key, { namespace, name }]) => {
    const place = { kind: CONFIG_MAPS, namespace, name }
    const found = await getResource(client, place, limits).catch((error: unknown) => {
      if (isKubeError(error, 'not_found', 'forbidden')) return undefined
      throw error
    })
    return [key, found && configMapKeys(found)] as const
  })
  const keys = new Map(read)
  return new Map(
    pods.map((pod) => {
      const { rules } = pod
      const known = rules && keys.get(`${pod.namespace}/${rules.configMap}`)
      return [pod, known && expectedDigest(known, rules)] as const
    }),
  )
}

function keyOf({ namespace, name }: InjectedPod): string {
  return `${namespace}/${name}`
}
