import { fieldsOf, textsOf } from '#base'
import { selects, servicePorts } from '../injector/check-services.ts'
import type { InjectionContext, NamespaceFacts, ServicePorts } from '../injector/injection.ts'
import { type KubeObject } from './pod-templates.ts'

/** Facts from the manifests about the place where their pods will run. */
export interface ManifestFacts {
  namespace(name: string): NamespaceFacts
  /**
   * Undefined when the manifests hold no Service of the namespace: others may be in the cluster.
   */
  services(namespace: string): InjectionContext['services']
  /** Returns the Services that select some of the pods, all of them with a sidecar. */
  injectedServices(pods: readonly SelectablePod[]): ReadonlySet<string>
}

interface SelectablePod {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly isInjected: boolean
}

/** Facts from flags about a namespace that no manifest contains. */
export type GivenFacts = Pick<NamespaceFacts, 'labels' | 'annotations'>

/** Collects namespaces and Services from what the manifests hold. */
export function manifestFacts(
  objects: readonly KubeObject[],
  given: GivenFacts,
  defaultNamespace: string,
): ManifestFacts {
  const namespaces = new Map<string, NamespaceFacts>()
  const services = new Map<string, ServicePorts[]>()
  for (const { kind, name, namespace = defaultNamespace, value } of objects) {
    if (kind === 'Namespace') {
      const { labels, annotations } = fieldsOf(value['metadata'])
      namespaces.set(name, {
        name,
        labels: { ...textsOf(labels), ...given.labels },
        annotations: { ...textsOf(annotations), ...given.annotations },
      })
    } else if (kind === 'Service') {
      const list = services.get(namespace) ?? []
      services.set(namespace, [...list, servicePorts(value)])
    }
  }
  return {
    namespace: (name) => namespaces.get(name) ?? { name, ...given },
    services: (namespace) => services.get(namespace),
    injectedServices: (pods) => {
      const places = [...services].flatMap(([namespace, list]) =>
        list.flatMap(({ name, selector, ports }) => {
          const selected = pods.filter(
            (pod) => pod.namespace === namespace && selects(selector, pod.labels),
          )
          if (selected.length === 0 || !selected.every(({ isInjected }) => isInjected)) return []
          return ports.map(({ port }) => `${name}.${namespace}:${port}`)
        }),
      )
      return new Set(places)
    },
  }
}
