import {
  checkServices,
  type ServicePorts,
  servicePorts,
  UNCHECKED_SERVICES,
} from '../injector/check-services.ts'
import type { InjectedPod } from './injected-pod.ts'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError } from './kube-error.ts'
import { type Limits, SERVICES } from './resources.ts'

/** The warnings of Services that lead past sidecars, and why Services could not be read. */
export type Bypasses = Awaited<ReturnType<typeof findBypasses>>

/** Returns the warnings of the injector, and of Services that lead past the sidecar now. */
export function podWarnings(pod: InjectedPod, { warnings }: Bypasses): readonly string[] {
  // The injector could not read Services; now they are known.
  const kept = pod.warnings.filter((each) => !each.includes(UNCHECKED_SERVICES))
  return [...new Set([...kept, ...(warnings.get(pod) ?? [])])]
}

/**
 * Finds the Services that lead past sidecars in mode `port`; reads nothing where no pod has this
 * mode.
 */
export async function findBypasses(
  client: KubeClient,
  pods: readonly InjectedPod[],
  prefix: string,
  limits: Limits,
) {
  const byName = pods.filter(({ mode }) => mode === 'port')
  const namespaces = [...new Set(byName.map(({ namespace }) => namespace))]
  let trouble: string | undefined
  const lists = await inParallel(namespaces, async (namespace) => {
    try {
      return [namespace, await listServices(client, namespace, limits)] as const
    } catch (error) {
      const { message } = asKubeError(error)
      trouble ??= `cannot check whether Services bypass sidecars in mode port: ${message}`
      return [namespace, []] as const
    }
  })
  const services = new Map<string, readonly ServicePorts[]>(lists)
  const warnings = new Map(
    byName.map((pod) => [pod, checkServices(pod, services.get(pod.namespace) ?? [], prefix)]),
  )
  return { warnings, trouble }
}

/** Lists where the Services of a namespace lead. */
export async function listServices(client: KubeClient, namespace: string, limits: Limits) {
  const found = await client.list({ kind: SERVICES, namespace }, undefined, limits)
  return found.map(servicePorts)
}
