import type { Pod } from '../../../packages/kubernetes/src/injector/pod.ts'

/** A pod as the API server reports it. */
export interface RunningPod extends Pod {
  readonly metadata: NonNullable<Pod['metadata']> & { readonly name: string }
  readonly status: {
    readonly phase?: string
    readonly podIP?: string
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
  }
}

interface ContainerStatus {
  readonly name: string
  readonly ready: boolean
  readonly restartCount: number
}

/** Its name. */
export function nameOf({ metadata }: RunningPod): string {
  return metadata.name
}

/** Names of its containers. */
export function containers({ spec }: RunningPod): readonly string[] {
  return spec!.containers!.map(({ name }) => name)
}

/** Names of its init containers. */
export function early({ spec }: RunningPod): readonly string[] {
  return spec!.initContainers?.map(({ name }) => name) ?? []
}

/** Returns the status that the injector has written to the pod. */
export function status({ metadata }: RunningPod): object {
  return JSON.parse(metadata.annotations!['squall.dev/status']!) as object
}

/** Returns the number of restarts of the pod's containers. */
export function restarts({
  status: { containerStatuses = [], initContainerStatuses = [] },
}: RunningPod): number {
  return [...containerStatuses, ...initContainerStatuses].reduce(
    (sum, { restartCount }) => sum + restartCount,
    0,
  )
}
