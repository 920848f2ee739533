import { fieldsOf, instantText, parsedJson } from '#base'
import { countedPods, isEnough, type Progress } from '../kube/await-rules.ts'
import { configMapKeys, expectedDigest, WHOLE_MOUNT } from '../kube/config-map-rules.ts'
import { inParallel } from '../kube/in-parallel.ts'
import { asKubeError, isKubeError } from '../kube/kube-error.ts'
import { CONFIG_MAPS, describe, metadataOf, pathOf } from '../kube/resources.ts'
import type { ConfigMapRef } from '../kube/stop-sidecars.ts'
import type { Rollout } from './rollout.ts'

/** The state of the sidecars that read one ConfigMap, at the end of a command. */
export interface Observation {
  readonly ref: ConfigMapRef
  readonly state: 'applied' | 'stopped' | 'resumed'
  /** Undefined for the digest of the ConfigMap as it is now. */
  readonly digest?: string | undefined
  readonly progress: Progress
}

const TIMEOUT_MS = 2_000
/** The time for all ConfigMaps of a command. */
const ALL_MS = 10_000

/**
 * Annotates each ConfigMap with its observation, for GitOps tools. A failure is a warning: the
 * command has done its work by then, also where its time is over.
 */
export async function writeObserved(
  run: Rollout,
  observations: readonly Observation[],
): Promise<void> {
  if (run.signal.aborted || run.request.dryRun) return
  const until = AbortSignal.timeout(ALL_MS)
  const signal = AbortSignal.any([run.signal, until])
  const troubles = await inParallel(observations, (each) =>
    annotate({ ...run, signal }, each).catch((error: unknown) =>
      signal.aborted ? new Error('the command ended') : asKubeError(error),
    ),
  )
  const trouble = troubles.find((each) => each !== undefined)
  if (trouble !== undefined)
    run.warn(`what sidecars confirmed was not recorded: ${trouble.message}`)
}

async function annotate(
  { client, request, signal }: Rollout,
  { ref, state, digest, progress }: Observation,
): Promise<undefined> {
  const target = { kind: CONFIG_MAPS, ...ref }
  const limits = { signal, timeoutMs: TIMEOUT_MS, mayRepeat: false }
  const found = digest === undefined ? await client.find(target, limits) : undefined
  const mount = [...progress.keys()].find(({ pod }) => pod.rules)?.pod.rules ?? WHOLE_MOUNT
  const counted = countedPods(progress)
  const observed = {
    ok: isEnough(progress, request.min),
    state,
    digest: digest ?? expectedDigest(configMapKeys(found ?? {}), mount),
    pods: counted.length,
    confirmed: counted.filter((each) => each.state === state).length,
    time: instantText(Math.floor(client.now() / 1000) * 1000),
  }
  const key = `${request.cluster.prefix}observed`
  const before = fieldsOf(parsedJson(metadataOf(found ?? {}).annotations[key] ?? ''))
  // A stop that is repeated every minute writes nothing more.
  if (JSON.stringify({ ...before, time: observed.time }) === JSON.stringify(observed)) return
  const annotations = { [key]: JSON.stringify(observed) }
  await client
    .request({
      method: 'PATCH',
      path: pathOf(target),
      // The times of other writes say when rules and stops were written, and must not change.
      query: { fieldManager: 'squall-observed' },
      patch: 'merge',
      body: { metadata: { annotations } },
      what: describe('annotate', target),
      ...limits,
    })
    .catch((error: unknown) => {
      if (!isKubeError(error, 'not_found')) throw error
    })
}
