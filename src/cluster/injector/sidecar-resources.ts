import type { InjectorSettings, SidecarResources } from './injector-settings.ts'
import { fitted, hasOwnResources, isGuaranteed } from './pod-resources.ts'
import { parseQuantity } from './quantity.ts'
import type { Pod, Resources } from './pod-types.ts'
import { Denial } from './denial.ts'
import type { InjectionOptions } from './injection-options.ts'

/** The part of its memory that the heap of the program may take; the rest is for sockets and code. */
const HEAP_SHARE = 0.6
/**
 * Half of the space for what is new. Most of it is garbage at once, and what fits a processor's cache
 * costs less time, and less memory, than what V8 would choose.
 */
const YOUNG_MIB = 2

/** Enough for thousands of calls a second, and no whole CPU: static CPU managers would reserve that. */
const GUARANTEED_CPU = '500m'

/** The resources of a sidecar, and warnings about them. */
export interface ChosenResources {
  readonly resources: SidecarResources
  readonly warnings: readonly string[]
}

/**
 * Decides what the sidecar is promised and may use, by the annotations and else by the settings. A pod
 * that is Guaranteed stays so, unless it says that it need not.
 */
export function sidecarResources(
  pod: Pod,
  options: InjectionOptions,
  { resources: defaults, prefix }: Pick<InjectorSettings, 'resources' | 'prefix'>,
): ChosenResources {
  const resources: SidecarResources = {
    cpuRequest: options.get('cpu-request') ?? defaults.cpuRequest,
    cpuLimit: options.get('cpu-limit') ?? defaults.cpuLimit,
    memoryRequest: options.get('memory-request') ?? defaults.memoryRequest,
    memoryLimit: options.get('memory-limit') ?? defaults.memoryLimit,
  }
  refuseAbove('cpu', resources.cpuRequest, resources.cpuLimit)
  refuseAbove('memory', resources.memoryRequest, resources.memoryLimit)
  // Resources of the pod itself decide about its class, whatever its containers say.
  if (hasOwnResources(pod)) {
    const warning =
      'the pod has resources of its own (spec.resources), which the sidecar shares: leave 32Mi of memory for it'
    return { resources: fitted(pod, resources), warnings: [warning] }
  }
  const qos = options.get('qos')
  if (qos === 'guaranteed' && !isGuaranteed(pod)) {
    throw new Denial(
      'resources',
      `${prefix}qos is guaranteed, and the pod itself is not: a container has no limits of cpu and memory, or other requests`,
      'give all containers requests that equal their limits, or leave it out',
    )
  }
  if (qos === 'burstable' || !isGuaranteed(pod)) return { resources, warnings: [] }
  return { resources: guaranteed(resources, options), warnings: [] }
}

function guaranteed(
  { cpuLimit, memoryLimit }: SidecarResources,
  options: InjectionOptions,
): SidecarResources {
  const isLess = (parseQuantity(cpuLimit) ?? 0) <= (parseQuantity(GUARANTEED_CPU) ?? 0)
  const cpu =
    options.get('cpu-limit') ?? options.get('cpu-request') ?? (isLess ? cpuLimit : GUARANTEED_CPU)
  return { cpuRequest: cpu, cpuLimit: cpu, memoryRequest: memoryLimit, memoryLimit }
}

/** As a container says it. */
export function toResources(resources: SidecarResources): Resources {
  return {
    requests: { cpu: resources.cpuRequest, memory: resources.memoryRequest },
    limits: { cpu: resources.cpuLimit, memory: resources.memoryLimit },
  }
}

/** Keeps the heap within the memory of the container, so that it is collected and not killed. */
export function heapOption({ memoryLimit }: SidecarResources): string {
  const bytes = parseQuantity(memoryLimit) ?? 0
  const heap = Math.floor((bytes * HEAP_SHARE) / 2 ** 20)
  return `--max-old-space-size=${heap} --max-semi-space-size=${YOUNG_MIB}`
}

function refuseAbove(what: string, request: string, limit: string): void {
  if ((parseQuantity(request) ?? 0) <= (parseQuantity(limit) ?? Infinity)) return
  throw new Denial(
    'resources',
    `the sidecar would ask for ${request} of ${what} and may use ${limit}`,
    `let ${what}-request be at most ${what}-limit`,
  )
}
