import type { SidecarResources } from './injector-settings.ts'
import type { Container, Pod, Quantities, Resources } from './pod-types.ts'
import { parseQuantity } from './quantity.ts'
import { Denial } from './denial.ts'

/** The resources that decide about the class of a pod. */
const KINDS = ['cpu', 'memory'] as const
type Kind = (typeof KINDS)[number]

const KEYS = {
  cpu: { request: 'cpuRequest', limit: 'cpuLimit' },
  memory: { request: 'memoryRequest', limit: 'memoryLimit' },
} as const

/** The least that the program needs. */
const LEAST: Readonly<Record<Kind, number>> = { cpu: 0.001, memory: 128 * 2 ** 20 }

/** True when all containers of a pod have equal requests and limits, which makes it Guaranteed. */
export function isGuaranteed({ spec }: Pod): boolean {
  const all: readonly Container[] = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  return all.length > 0 && all.every(({ resources }) => isEqual(resources))
}

function isEqual(resources: Resources | null | undefined): boolean {
  return KINDS.every((kind) => {
    const limit = amount(resources?.limits, kind)
    // A request that is left out is the limit.
    return limit !== undefined && (amount(resources?.requests, kind) ?? limit) === limit
  })
}

/** True when a pod has resources of its own, which its containers share. */
export function hasOwnResources({ spec }: Pod): boolean {
  return KINDS.some(
    (kind) =>
      amount(spec?.resources?.limits, kind) !== undefined ||
      amount(spec?.resources?.requests, kind) !== undefined,
  )
}

/**
 * Fits the sidecar into the resources of a pod: its limits are at most those of the pod, and where the
 * containers already request all that the pod has, the sidecar requests nothing and shares.
 */
export function fitted({ spec }: Pod, resources: SidecarResources): SidecarResources {
  const result = { ...resources }
  const containers: readonly Container[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
  ]
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
    if (promised !== undefined && taken + value(result[request]) > promised) result[request] = '0'
  }
  return result
}

function tooSmall(kind: Kind, has: string | number | undefined): Denial {
  return new Denial(
    'resources',
    `the pod may use ${has ?? ''} of ${kind} in all (spec.resources), and the sidecar needs ${kind === 'memory' ? '128Mi' : '1m'} of it`,
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
