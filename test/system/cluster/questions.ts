import type { Cluster } from './start-cluster.ts'
import type { RunningPod } from './running-pod.ts'
import { loosePod } from './workloads.ts'

/** Common queries of tests to a cluster. */
export interface Questions {
  /** Runs kubectl; throws what it complains of. */
  kubectl(...args: readonly string[]): Promise<string>
  /** Creates something in a namespace; the result is why that was refused, or nothing. */
  refusal(namespace: string, manifest: string): Promise<string>
  /**
   * Why a pod, one that asks unless told otherwise, would be refused. Nothing is made: it is a dry
   * run. For what was applied and is not active yet: API servers take policies and webhooks into
   * use a little later.
   */
  wouldRefuse(namespace?: string, manifest?: string): Promise<string>
  /** The pods with a label that nobody has deleted. */
  pods(namespace: string, selector: string): Promise<readonly RunningPod[]>
  /** The address of a Service. */
  service(namespace: string, name: string): Promise<string>
  /** Names of all that is in no namespace, but for the addresses of Services. */
  clusterWide(): Promise<readonly string[]>
  /** Names of all that users make in a namespace. */
  within(namespace: string): Promise<readonly string[]>
}

/** The label of the pods that ask, as `annotations`. */
export const ASKS = { 'squall.dev/inject': 'true' }

const KINDS = 'all,cm,secret,sa,role,rolebinding,netpol,pdb,endpointslice'

/** Asks a cluster. */
export function createQuestions(cluster: Cluster): Questions {
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(args)
  const create = (namespace: string, manifest: string, ...more: readonly string[]) =>
    cluster
      .kubectl(['create', '-n', namespace, ...more, '-f', '-'], manifest)
      .then(() => '', String)
  return {
    kubectl,
    refusal: (namespace, manifest) => create(namespace, manifest),
    wouldRefuse: (namespace = 'shop', manifest = loosePod('asks', ASKS)) =>
      create(namespace, manifest, '--dry-run=server'),
    pods: async (namespace, selector) => {
      const text = await kubectl('get', 'pods', '-n', namespace, '-l', selector, '-o', 'json')
      const { items } = JSON.parse(text) as { items: readonly RunningPod[] }
      return items.filter(({ metadata }) => !('deletionTimestamp' in metadata))
    },
    service: (namespace, name) =>
      kubectl('get', 'svc', name, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'),
    clusterWide: async () => {
      const kinds = await kubectl(
        'api-resources',
        '--namespaced=false',
        '--verbs=list',
        '-o',
        'name',
      )
      const names = await kubectl('get', kinds.trim().split('\n').join(','), '-o', 'name')
      return sorted(names).filter((name) => !name.startsWith('ipaddress.'))
    },
    within: async (namespace) => sorted(await kubectl('get', KINDS, '-n', namespace, '-o', 'name')),
  }
}

function sorted(names: string): readonly string[] {
  return names.trim().split('\n').sort()
}
