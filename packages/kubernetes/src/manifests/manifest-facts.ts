import { isRecord } from '#base'
import type { InjectionContext, NamespaceFacts, ServicePorts } from '../injector/injection.ts'
import { type KubeObject } from './pod-templates.ts'

/** Facts from the manifests about the place where their pods will run. */
export interface ManifestFacts {
  namespace(name: string): NamespaceFacts
  /**
   * Undefined when the manifests hold no Service of the namespace: others may be in the cluster.
   */
  services(namespace: string): InjectionContext['services']
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
      const { labels, annotations } = isRecord(value['metadata']) ? value['metadata'] : {}
      namespaces.set(name, {
        name,
        labels: { ...texts(labels), ...given.labels },
        annotations: { ...texts(annotations), ...given.annotations },
      })
    } else if (kind === 'Service') {
      const list = services.get(namespace) ?? []
      services.set(namespace, [...list, servicePorts(name, value['spec'])])
    }
  }
  return {
    namespace: (name) => namespaces.get(name) ?? { name, ...given },
    services: (namespace) => services.get(namespace),
  }
}

function servicePorts(name: string, spec: unknown): ServicePorts {
  const { selector, ports, clusterIP } = isRecord(spec) ? spec : {}
  const list = Array.isArray(ports) ? ports.filter(isRecord) : []
  return {
    name,
    selector: texts(selector),
    isHeadless: clusterIP === 'None',
    ports: list.flatMap(({ port, targetPort, protocol }) =>
      typeof port === 'number'
        ? [
            {
              port,
              targetPort:
                typeof targetPort === 'number' || typeof targetPort === 'string'
                  ? targetPort
                  : undefined,
              protocol: typeof protocol === 'string' ? protocol : undefined,
            },
          ]
        : [],
    ),
  }
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  )
}
