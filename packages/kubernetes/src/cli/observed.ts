import { endingAfter, type Fields, fieldsOf, instantText, parsedJson } from '#base'
import { countedPods, isEnough, type Progress } from '../kube/await-rules.ts'
import { configMapKeys, expectedDigest, lastChange, WHOLE_MOUNT } from '../kube/config-map-rules.ts'
import { inParallel } from '../kube/in-parallel.ts'
import { asKubeError, isKubeError, retryConflicts } from '../kube/kube-error.ts'
import { CONFIG_MAPS, describe, metadataOf, type NamedRef, pathOf } from '../kube/resources.ts'
import type { Rollout } from './rollout.ts'

/** The state of the sidecars that read one ConfigMap, at the end of a command. */
export interface Observation {
  readonly ref: NamedRef
  readonly state: 'applied' | 'stopped' | 'resumed'
  readonly progress: Progress
  /** The key that the command wrote. */
  readonly key: string
  /** Returns true while the ConfigMap has what the command wrote. */
  readonly lasts: (configMap: Fields) => boolean
}

const TIMEOUT_MS = 2_000
/** A role may write stops and not read them: nothing is recorded then. */
const UNREADABLE: Fields = {}
/** The time for all ConfigMaps of a command. */
const ALL_MS = 10_000

/**
 * Annotates each ConfigMap with its observation, for GitOps tools. Warns where the change of the
 * command did not last, and returns these ConfigMaps, which are not annotated. A failure is a
 * warning, too: the command has done its work by then, also where its time is over.
 */
export async function writeObserved(
  run: Rollout,
  observations: readonly Observation[],
): Promise<readonly NamedRef[]> {
  if (run.signal.aborted || run.request.dryRun) return []
  const signal = endingAfter(ALL_MS, run.signal)
  const results = await inParallel(observations, (each) =>
    retryConflicts(() => annotate({ ...run, signal }, each)).catch((error: unknown) =>
      signal.aborted ? new Error('the command ended') : asKubeError(error),
    ),
  )
  const trouble = results.find((each) => each instanceof Error)
  if (trouble !== undefined)
    run.warn(`the confirmations of the sidecars were not recorded: ${trouble.message}`)
  return results.flatMap((each) => (each === undefined || each instanceof Error ? [] : [each]))
}

/** Returns the ConfigMap where it no longer has what the command wrote. */
async function annotate(
  { client, request, signal, warn }: Rollout,
  { ref, state, progress, key, lasts }: Observation,
): Promise<NamedRef | undefined> {
  const { prefix } = request.cluster
  const target = { kind: CONFIG_MAPS, ...ref }
  const limits = { signal, timeoutMs: TIMEOUT_MS, mayRepeat: false }
  const found = await client.find(target, limits).catch((error: unknown) => {
    if (!isKubeError(error, 'forbidden')) throw error
    return UNREADABLE
  })
  if (found === UNREADABLE) return undefined
  if (!lasts(found ?? {})) {
    const isGone = fieldsOf(found?.['data'])[key] === undefined
    const how = isGone ? 'removed' : `changed, ${lastChange(found, key, prefix)}`
    const wrong = `after this command, ${key} of the ConfigMap ${ref.name} in ${ref.namespace} was ${how}`
    warn(`${wrong}; if a GitOps tool reverts changes, write ${key} into Git, or suspend the sync`)
    return ref
  }
  if (found === undefined || isOutdated(progress, found)) return undefined
  const mount = [...progress.keys()].find(({ pod }) => pod.rules)?.pod.rules ?? WHOLE_MOUNT
  const counted = countedPods(progress)
  const observed = {
    ok: isEnough(progress, request.min),
    state,
    digest: expectedDigest(configMapKeys(found), mount),
    pods: counted.length,
    confirmed: counted.filter((each) => each.state === state).length,
    time: instantText(Math.floor(client.now() / 1000) * 1000),
  }
  const { annotations, resourceVersion } = metadataOf(found)
  const name = `${prefix}observed`
  const before = fieldsOf(parsedJson(annotations[name] ?? ''))
  // A stop that is repeated every minute writes nothing more.
  if (JSON.stringify({ ...before, time: observed.time }) === JSON.stringify(observed))
    return undefined
  await client.request({
    method: 'PATCH',
    path: pathOf(target),
    // The times of other writes say when rules and stops were written, and must not change.
    query: { fieldManager: 'squall-observed' },
    patch: 'merge',
    // The version: the observation is of this content.
    body: { metadata: { resourceVersion, annotations: { [name]: JSON.stringify(observed) } } },
    what: describe('annotate', target),
    ...limits,
  })
  return undefined
}

/** Returns true where pods confirmed content that another command has changed since. */
function isOutdated(progress: Progress, found: Fields): boolean {
  const keys = configMapKeys(found)
  return [...progress].some(
    ([{ pod, digest }, { state }]) =>
      state !== 'skipped' &&
      state !== 'gone' &&
      digest !== undefined &&
      digest !== expectedDigest(keys, pod.rules ?? WHOLE_MOUNT),
  )
}
