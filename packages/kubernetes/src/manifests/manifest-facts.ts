import { fieldsOf, textsOf } from '#base'
import { selects, type ServicePorts, servicePorts } from '../injector/check-services.ts'
import type { NamespaceFacts } from '../injector/injection.ts'
import { type KubeObject } from './pod-templates.ts'

interface SelectablePod {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly isInjected: boolean
}

/** Collects facts from the manifests about the place where their pods will run; `given` are flags. */
export function manifestFacts(
  objects: readonly KubeObject[],
  given: Pick<NamespaceFacts, 'labels' | 'annotations'>,
  defaultNamespace: string,
) {
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
    namespace: (name: string): NamespaceFacts => namespaces.get(name) ?? { name, ...given },
    /** Undefined without a Service of the namespace: others may be in the cluster. */
    services: (namespace: string): readonly ServicePorts[] | undefined => services.get(namespace),
    /** Returns the Services that select some of the pods, all of them with a sidecar. */
    injectedServices: (pods: readonly SelectablePod[]): ReadonlySet<string> => {
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
