import type { InjectionContext } from './injection.ts'
import { allContainers, type Pod } from './pod.ts'

/** The containers of service meshes, which redirect the traffic of their pods. */
const MESHES: ReadonlyMap<string, string> = new Map([
  ['istio-proxy', 'Istio'],
  ['istio-init', 'Istio'],
  ['istio-validation', 'Istio'],
  ['linkerd-proxy', 'Linkerd'],
  ['linkerd-init', 'Linkerd'],
  ['kuma-sidecar', 'Kuma'],
  ['kuma-init', 'Kuma'],
  ['consul-dataplane', 'Consul'],
  ['consul-connect-inject-init', 'Consul'],
  ['envoy-sidecar', 'Consul'],
  ['osm-init', 'Open Service Mesh'],
  ['proxyinit', 'App Mesh'],
  ['nginx-mesh-sidecar', 'NGINX Service Mesh'],
  ['nginx-mesh-init', 'NGINX Service Mesh'],
])

export function isMesh(container: string): boolean {
  return MESHES.has(container)
}

/**
 * Describes the mesh that redirects the traffic of a pod. Its webhook may run after this one, so
 * labels and annotations that request it count as well.
 */
export function meshOf(pod: Pod, { namespace }: InjectionContext): string | undefined {
  const found = allContainers(pod).find(({ name }) => isMesh(name))
  if (found !== undefined) return `the pod has ${MESHES.get(found.name)}'s container ${found.name}`
  const own = { ...pod.metadata?.labels, ...pod.metadata?.annotations }
  const istio = own['sidecar.istio.io/inject']
  if (istio === 'true') return 'the pod requests the sidecar of Istio'
  const { labels, annotations } = namespace
  const isIstio = labels['istio-injection'] === 'enabled' || labels['istio.io/rev'] !== undefined
  if (isIstio && istio !== 'false') return 'Istio injects its sidecar in the namespace'
  const linkerd = own['linkerd.io/inject'] ?? annotations['linkerd.io/inject']
  if (linkerd === 'enabled' || linkerd === 'ingress') return 'Linkerd injects its sidecar'
  return undefined
}
