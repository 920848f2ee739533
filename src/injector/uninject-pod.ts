import { STATUS_KEY } from './annotations.ts'
import { REDIRECT, RULES_VOLUME, RUN_VOLUME, SIDECAR } from './injected-names.ts'
import { type Emptiable, readStatus, type Undo } from './injection-status.ts'
import { restoreNames } from './move-names.ts'
import type { Container, ObjectMeta, Pod, PodSpec } from './pod-types.ts'
import { restoreProbes } from './rewrite-probes.ts'

const CONTAINERS: readonly string[] = [SIDECAR, REDIRECT]
const VOLUMES: readonly string[] = [RULES_VOLUME, RUN_VOLUME]

/**
 * The pod as it was before injection; the same pod when nothing was injected. What others changed
 * since then stays. Throws `StatusError` when the pod does not say what was done to it.
 */
export function uninjectPod(pod: Pod, prefix = 'squall.dev/'): Pod {
  const key = `${prefix}${STATUS_KEY}`
  const text = pod.metadata?.annotations?.[key]
  if (text === undefined) return pod
  const { undo } = readStatus(text, key)
  return {
    ...pod,
    metadata: restoredMeta(pod.metadata ?? {}, undo, key),
    spec: restoredSpec(pod.spec ?? {}, undo),
  }
}

function restoredMeta(metadata: ObjectMeta, undo: Undo, status: string): ObjectMeta {
  const added = undo.annotations ?? {}
  const left = Object.entries(metadata.annotations ?? {}).filter(
    ([key, value]) => key !== status && !(Object.hasOwn(added, key) && added[key] === value),
  )
  return withRest(metadata, 'annotations', left.length > 0 && Object.fromEntries(left), undo)
}

function restoredSpec(spec: PodSpec, undo: Undo): PodSpec {
  const init = without(spec.initContainers, CONTAINERS)?.map((each) => restored(each, undo))
  const volumes = without(spec.volumes, VOLUMES)
  const containers = without(spec.containers, CONTAINERS)?.map((each) => restored(each, undo))
  let result: PodSpec = { ...spec, ...(containers && { containers }) }
  result = withRest(result, 'initContainers', notEmpty(init), undo)
  return withRest(result, 'volumes', notEmpty(volumes), undo)
}

/** What is left of a list or map; when that is nothing, what was there in its stead. */
function withRest<Holder extends ObjectMeta | PodSpec>(
  holder: Holder,
  key: Emptiable & keyof Holder,
  rest: unknown,
  { empty = {} }: Undo,
): Holder {
  if (rest) return { ...holder, [key]: rest }
  if (Object.hasOwn(empty, key)) return { ...holder, [key]: empty[key] }
  const { [key]: _, ...others } = holder
  return others as unknown as Holder
}

function restored(container: Container, undo: Undo): Container {
  return restoreProbes(restoreNames(container, undo.ports ?? {}), undo.probes ?? {})
}

function without<Item extends { readonly name: string }>(
  items: readonly Item[] | null | undefined,
  names: readonly string[],
): readonly Item[] | undefined {
  return items?.filter(({ name }) => !names.includes(name))
}

function notEmpty<Item>(items: readonly Item[] | undefined): readonly Item[] | false {
  return items !== undefined && items.length > 0 && items
}
