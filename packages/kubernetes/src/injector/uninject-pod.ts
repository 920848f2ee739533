import {
  ADMIN_PORT_NAME,
  REDIRECT,
  SIDECAR,
  SIDECAR_LABEL,
  STATUS_KEY,
  VOLUMES,
} from './injected-names.ts'
import { type Emptiable, readStatus, type Undo } from './injection-status.ts'
import { restoreNames } from './move-names.ts'
import {
  allContainers,
  type Container,
  type Handler,
  type ObjectMeta,
  type Pod,
  type PodSpec,
} from './pod.ts'
import { restoreProbes } from './rewrite-probes.ts'

const CONTAINERS: readonly string[] = [SIDECAR, REDIRECT]

/**
 * Returns the pod as it was before injection, with later changes by others; the same pod when
 * nothing was injected. `kept` has original probes that a service mesh requests at paths of the
 * sidecar, by `container/probe`. Throws `StatusError` for an invalid status.
 */
export function uninjectPod(pod: Pod, prefix: string) {
  const key = `${prefix}${STATUS_KEY}`
  const text = pod.metadata?.annotations?.[key]
  const kept: Record<string, Handler> = {}
  if (text === undefined) return { pod, kept }
  const { undo } = readStatus(text, key)
  const adminPort = adminPortOf(pod)
  const restore = (before: Container): Container => {
    const named = restoreNames(before, undo.ports ?? {})
    const restored = restoreProbes(named, undo.probes ?? {}, adminPort)
    Object.assign(kept, restored.kept)
    return restored.container
  }
  return {
    pod: {
      ...pod,
      metadata: restoredMeta(pod.metadata ?? {}, undo, prefix),
      spec: restoredSpec(pod.spec ?? {}, undo, restore),
    },
    kept,
  }
}

/** Returns the admin port of the removed sidecar, which may have had other settings. */
function adminPortOf(pod: Pod): number | undefined {
  return allContainers(pod)
    .find(({ name }) => name === SIDECAR)
    ?.ports?.find(({ name }) => name === ADMIN_PORT_NAME)?.containerPort
}

function restoredMeta(metadata: ObjectMeta, undo: Undo, prefix: string): ObjectMeta {
  const added = undo.annotations ?? {}
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key, value]) =>
      key !== `${prefix}${STATUS_KEY}` && !(Object.hasOwn(added, key) && added[key] === value),
  )
  const labels = Object.entries(metadata.labels ?? {}).filter(
    ([key]) => key !== `${prefix}${SIDECAR_LABEL}`,
  )
  const result = withRest(metadata, 'annotations', Object.fromEntries(annotations), undo)
  return withRest(result, 'labels', Object.fromEntries(labels), undo)
}

function restoredSpec(
  spec: PodSpec,
  undo: Undo,
  restore: (before: Container) => Container,
): PodSpec {
  const init = without(spec.initContainers, CONTAINERS)?.map(restore)
  const volumes = without(spec.volumes, VOLUMES)
  const containers = without(spec.containers, CONTAINERS)?.map(restore)
  let result: PodSpec = { ...spec, ...(containers && { containers }) }
  result = withRest(result, 'initContainers', init, undo)
  return withRest(result, 'volumes', volumes, undo)
}

/** Keeps the rest of a list or map; restores the original value when nothing is left. */
function withRest<Holder extends ObjectMeta | PodSpec>(
  holder: Holder,
  key: Emptiable & keyof Holder,
  rest: object | undefined,
  { empty = {} }: Undo,
): Holder {
  if (rest && Object.keys(rest).length > 0) return { ...holder, [key]: rest }
  if (Object.hasOwn(empty, key)) return { ...holder, [key]: empty[key] }
  const { [key]: _, ...others } = holder
  return others as unknown as Holder
}

function without<Item extends { readonly name: string }>(
  items: readonly Item[] | null | undefined,
  names: readonly string[],
): readonly Item[] | undefined {
  return items?.filter(({ name }) => !names.includes(name))
}
