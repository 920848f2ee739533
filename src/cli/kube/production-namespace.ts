import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { isKubeError } from '../../cluster/kube/kube-error.ts'
import { metadataOf, NAMESPACES } from '../../cluster/kube/resources.ts'
import { refuseProduction } from '../flags/production.ts'
import type { ApplyRequest } from '../commands/apply.ts'

/**
 * Refuses a namespace that counts as production by its name or its label. Throws a `UsageError`.
 * Without the right to read namespaces the name alone decides.
 */
export async function refuseProductionNamespace(
  client: KubeClient,
  namespace: string,
  { production, environmentLabel }: Pick<ApplyRequest, 'production' | 'environmentLabel'>,
  signal: AbortSignal,
): Promise<void> {
  if (production === undefined) return
  refuseProduction(production, [{ where: 'the namespace', name: namespace }])
  const name = (await namespaceLabels(client, namespace, signal))?.[environmentLabel]
  const where = `the label ${environmentLabel} of the namespace ${namespace},`
  refuseProduction({ ...production, places: [] }, [{ where, name }])
}

/** Returns the labels of a namespace; undefined where they cannot be read. */
export async function namespaceLabels(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const place = { kind: NAMESPACES, name: namespace }
    return metadataOf(await client.get(place, { signal })).labels
  } catch (error) {
    if (isKubeError(error, 'forbidden', 'not_found')) return undefined
    throw error
  }
}
