import { fieldsOf, listOf } from '../../base/values.ts'
import type { KubeClient } from './kube-client.ts'
import { type Limits, NODES } from './resources.ts'

/** Returns whether a node runs its pods; false also for a node that was deleted. */
export async function isNodeReady(
  client: KubeClient,
  name: string,
  limits: Limits,
): Promise<boolean> {
  const node = await client.find({ kind: NODES, name }, limits)
  return listOf(fieldsOf(node?.['status'])['conditions']).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  )
}
