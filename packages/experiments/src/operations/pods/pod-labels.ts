import { fieldsOf, textsOf } from '#base'
import { DEPLOYMENTS, type KubeClient } from '#kubernetes'
import type { PodsSpec } from '../../experiment/plan.ts'
import { rejectionError } from '../../experiment/rejection.ts'

/** Returns the labels of the pods that take part. Throws a `RejectedError`. */
export async function podLabels(
  client: KubeClient,
  { namespace, deployment, selector }: PodsSpec,
): Promise<Readonly<Record<string, string>>> {
  if (selector !== undefined) return selector
  const ref = { kind: DEPLOYMENTS, namespace, name: deployment }
  const found = fieldsOf(fieldsOf((await client.get(ref))['spec'])['selector'])
  const labels = textsOf(found['matchLabels'])
  if (Object.keys(labels).length > 0 && found['matchExpressions'] === undefined) return labels
  throw rejectionError(
    'SIDECAR_UNREACHABLE',
    `the Deployment ${deployment} has a selector that uses more than label equality`,
    'set sidecar.kubernetes.selector to labels of its pods',
  )
}

/** Returns labels as the API server selects by them. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}
