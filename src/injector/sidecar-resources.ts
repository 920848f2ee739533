import type { SidecarResources } from './injector-settings.ts'
import { parseQuantity } from './quantity.ts'
import type { Resources } from './pod-types.ts'
import { Refusal } from './refusal.ts'
import type { Wishes } from './wishes.ts'

/** The part of its memory that the heap of the program may take; the rest is for sockets and code. */
const HEAP_SHARE = 0.6
/**
 * Half of the space for what is new. Most of it is garbage at once, and what fits a processor's cache
 * costs less time, and less memory, than what V8 would choose.
 */
const YOUNG_MIB = 2

/** What the sidecar is promised and may use, by the annotations and else by the settings. */
export function sidecarResources(wishes: Wishes, settings: SidecarResources): SidecarResources {
  const resources: SidecarResources = {
    cpuRequest: wishes.get('cpu-request') ?? settings.cpuRequest,
    cpuLimit: wishes.get('cpu-limit') ?? settings.cpuLimit,
    memoryRequest: wishes.get('memory-request') ?? settings.memoryRequest,
    memoryLimit: wishes.get('memory-limit') ?? settings.memoryLimit,
  }
  refuseAbove('cpu', resources.cpuRequest, resources.cpuLimit)
  refuseAbove('memory', resources.memoryRequest, resources.memoryLimit)
  return resources
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
  throw new Refusal(
    'resources',
    `the sidecar would ask for ${request} of ${what} and may use ${limit}`,
    `let ${what}-request be at most ${what}-limit`,
  )
}
