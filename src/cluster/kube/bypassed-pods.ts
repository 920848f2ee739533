import { checkServices, UNCHECKED_SERVICES } from '../injector/check-services.ts'
import type { ServicePorts } from '../injector/injection.ts'
import type { InjectedPod } from './injected-pod.ts'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { type Limits, listResources, SERVICES } from './resources.ts'
import { servicePorts } from './service-ports.ts'

/** The Services that lead past sidecars. */
export interface Bypasses {
  readonly warnings: ReadonlyMap<InjectedPod, readonly string[]>
  /** Why Services could not be read. */
  readonly trouble: string | undefined
}

const AT_A_TIME = 8

/** Returns what the injector warned of, and the Services that lead past the sidecar now. */
export function podWarnings(pod: InjectedPod, { warnings }: Bypasses): readonly string[] {
  // Once Services are known, that they could not be read earlier means nothing.
  const kept = pod.warnings.filter((each) => !each.includes(UNCHECKED_SERVICES))
  return [...new Set([...kept, ...(warnings.get(pod) ?? [])])]
}

/** Asks which Services lead past the sidecars of pods in mode `port`; asks nothing where there are none. */
export async function findBypasses(
  client: KubeClient,
  pods: readonly InjectedPod[],
  prefix: string,
  limits: Limits,
): Promise<Bypasses> {
  const byName = pods.filter(({ mode }) => mode === 'port')
  const namespaces = [...new Set(byName.map(({ namespace }) => namespace))]
  let trouble: string | undefined
  const lists = await inParallel(namespaces, AT_A_TIME, async (namespace) => {
    try {
      const found = await listResources(client, { kind: SERVICES, namespace }, undefined, limits)
      return [namespace, found.map(servicePorts)] as const
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      trouble ??= `whether Services lead past sidecars in mode port cannot be checked: ${error.message}`
      return [namespace, []] as const
    }
  })
  const services = new Map<string, readonly ServicePorts[]>(lists)
  const warnings = new Map(
    byName.map((pod) => [pod, checkServices(pod, services.get(pod.namespace) ?? [], prefix)]),
  )
  return { warnings, trouble }
}
