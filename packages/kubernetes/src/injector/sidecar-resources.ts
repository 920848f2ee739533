import { Denial } from './injection.ts'
import type { InjectorSettings } from './settings-schema.ts'
import { parseQuantity } from './value-checks.ts'
import {
  allContainers,
  type Pod,
  type Quantities,
  type Resources,
  runningContainers,
} from './pod.ts'
import type { InjectionOptions } from './injection-options.ts'

export type SidecarResources = InjectorSettings['resources']

/** The share of memory for the heap; the rest is for sockets and code. */
const HEAP_SHARE = 0.6
/**
 * Half of the young generation. Most new objects are garbage at once: a space that fits a
 * processor's cache costs less time and memory than V8's default.
 */
const YOUNG_MIB = 2

/** Enough for thousands of calls a second; static CPU managers would reserve a whole CPU. */
const GUARANTEED_CPU = '500m'

/**
 * Chooses requests and limits of the sidecar by annotations, else by the settings. A Guaranteed pod
 * stays Guaranteed, unless its annotation qos is burstable.
 */
export function sidecarResources(
  pod: Pod,
  options: InjectionOptions,
  { resources: defaults, prefix }: Pick<InjectorSettings, 'resources' | 'prefix'>,
): { readonly resources: SidecarResources; readonly warnings: readonly string[] } {
  const resources: SidecarResources = {
    cpuRequest: options.get('cpu-request') ?? defaults.cpuRequest,
    cpuLimit: options.get('cpu-limit') ?? defaults.cpuLimit,
    memoryRequest: options.get('memory-request') ?? defaults.memoryRequest,
    memoryLimit: options.get('memory-limit') ?? defaults.memoryLimit,
  }
  rejectAbove('cpu', resources.cpuRequest, resources.cpuLimit)
  rejectAbove('memory', resources.memoryRequest, resources.memoryLimit)
  // Resources of the pod decide about its QoS class, not those of its containers.
  if (hasOwnResources(pod)) {
    const warning =
      'the sidecar shares the resources of the pod (spec.resources): leave 32Mi of memory for the sidecar'
    return { resources: fitted(pod, resources), warnings: [warning] }
  }
  const qos = options.get('qos')
  if (qos === 'guaranteed' && !isGuaranteed(pod)) {
    throw new Denial(
      'resources',
      `${prefix}qos is guaranteed, but the pod is not Guaranteed: a container has no limits of cpu and memory, or different requests`,
      'set requests equal to limits in all containers, or remove the annotation',
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

/** Returns the resources in the form of a container. */
export function toResources(resources: SidecarResources): Resources {
  return {
    requests: { cpu: resources.cpuRequest, memory: resources.memoryRequest },
    limits: { cpu: resources.cpuLimit, memory: resources.memoryLimit },
  }
}

/** Returns the V8 options that keep the heap within the memory of the container. */
export function heapOption(memoryLimit: string): string {
  const bytes = parseQuantity(memoryLimit) ?? 0
  const heap = Math.floor((bytes * HEAP_SHARE) / 2 ** 20)
  return `--max-old-space-size=${heap} --max-semi-space-size=${YOUNG_MIB}`
}

function rejectAbove(what: string, request: string, limit: string): void {
  if ((parseQuantity(request) ?? 0) <= (parseQuantity(limit) ?? Infinity)) return
  throw new Denial(
    'resources',
    `the sidecar would request ${request} of ${what}, with a limit of ${limit}`,
    `set ${what}-request to at most ${what}-limit`,
  )
}

/** The resources that decide about the QoS class of a pod. */
const KINDS = ['cpu', 'memory'] as const
type Kind = (typeof KINDS)[number]

const KEYS = {
  cpu: { request: 'cpuRequest', limit: 'cpuLimit' },
  memory: { request: 'memoryRequest', limit: 'memoryLimit' },
} as const

/** The least that the program needs. */
const LEAST: Readonly<Record<Kind, number>> = { cpu: 0.001, memory: 128 * 2 ** 20 }

/**
 * Returns true when all containers have equal requests and limits, which makes a pod Guaranteed.
 */
function isGuaranteed(pod: Pod): boolean {
  const all = allContainers(pod)
  return all.length > 0 && all.every(({ resources }) => isEqual(resources))
}

function isEqual(resources: Resources | null | undefined): boolean {
  return KINDS.every((kind) => {
    const limit = amount(resources?.limits, kind)
    // A missing request equals the limit.
    return limit !== undefined && (amount(resources?.requests, kind) ?? limit) === limit
  })
}

/** Returns true for a pod with pod-level resources, which its containers share. */
function hasOwnResources({ spec }: Pod): boolean {
  const amounts = [spec?.resources?.limits, spec?.resources?.requests]
  return KINDS.some((kind) => amounts.some((each) => amount(each, kind) !== undefined))
}

/**
 * Fits the sidecar into the resources of a pod: its limits are at most those of the pod, and where
 * the containers already request all that the pod has, the sidecar requests nothing and shares.
 */
function fitted(pod: Pod, resources: SidecarResources): SidecarResources {
  const { spec } = pod
  const result = { ...resources }
  const containers = runningContainers(pod)
  for (const kind of KINDS) {
    const { request, limit } = KEYS[kind]
    const most = amount(spec?.resources?.limits, kind)
    const promised = amount(spec?.resources?.requests, kind) ?? most
    if (most !== undefined && most < value(result[limit])) {
      if (most < LEAST[kind]) throw tooSmall(kind, spec?.resources?.limits?.[kind])
      result[limit] = String(spec?.resources?.limits?.[kind])
    }
    if (value(result[request]) > value(result[limit])) result[request] = result[limit]
    const taken = containers.reduce(
      (sum, each) => sum + (amount(each.resources?.requests, kind) ?? 0),
      0,
    )
    const left = (promised ?? Infinity) - taken
    // Sums of fractions are inexact.
    if (value(result[request]) > left + 1e-9) result[request] = '0'
  }
  return result
}

function tooSmall(kind: Kind, has: string | number | undefined): Denial {
  return new Denial(
    'resources',
    `the pod may use ${has ?? ''} of ${kind} in total (spec.resources), but the sidecar requires ${kind === 'memory' ? '128Mi' : '1m'} of it`,
    `raise spec.resources.limits.${kind}`,
  )
}

function amount(quantities: Quantities | null | undefined, kind: Kind): number | undefined {
  const text = quantities?.[kind]
  return text === undefined || text === null ? undefined : value(String(text))
}

function value(text: string): number {
  return parseQuantity(text) ?? 0
}
