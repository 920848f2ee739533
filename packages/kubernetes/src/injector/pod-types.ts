import type {
  CONTAINER,
  ENV_VAR,
  HANDLER,
  Pod,
  RESOURCES,
  TypeOf,
  VOLUME,
  VOLUME_MOUNT,
} from './parse-pod.ts'

export type { Pod, PodSpec } from './parse-pod.ts'
export type ObjectMeta = NonNullable<Pod['metadata']>
export type Container = TypeOf<typeof CONTAINER>
export type ContainerPort = NonNullable<Container['ports']>[number]
export type Probe = NonNullable<Container['livenessProbe']>
export type Handler = TypeOf<typeof HANDLER>
export type EnvVar = TypeOf<typeof ENV_VAR>
export type Volume = TypeOf<typeof VOLUME>
export type VolumeMount = TypeOf<typeof VOLUME_MOUNT>
export type Resources = TypeOf<typeof RESOURCES>
export type Quantities = NonNullable<Resources['requests']>

/** Returns the containers of a pod, and its init containers. */
export function allContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
}

/** Returns the containers that run with the pod: native sidecars too, not what ends before. */
export function runningContainers({ spec }: Pod): readonly Container[] {
  const native = (spec?.initContainers ?? []).filter((each) => each.restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...native]
}
