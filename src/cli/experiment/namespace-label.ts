import { isKubeError, KubeError } from '../../cluster/kube/kube-error.ts'
import { metadataOf, NAMESPACES } from '../../cluster/kube/resources.ts'
import type { PlacedName } from '../../rules/guard/production-names.ts'
import type { Environment } from '../flags/flag-values.ts'
import { readVersion } from '../version.ts'

/** The cluster in which namespaces are read, and their label. */
export interface LabelSource {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly environmentLabel: string
  readonly env: Environment
}

const ASK_MS = 3_000

/** Returns a function that reads the label of a namespace with the rights of the user. */
export function namespaceLabels(
  { kubeconfig, context, environmentLabel, env }: LabelSource,
  warn: (text: string) => void,
): (namespace: string) => Promise<PlacedName | undefined> {
  return async (namespace) => {
    const { connectKube } = await import('../../cluster/kube/connect.ts')
    try {
      const client = connectKube({ kubeconfig, context, env, version: readVersion() })
      try {
        const place = { kind: NAMESPACES, name: namespace }
        const { labels } = metadataOf(await client.get(place, { timeoutMs: ASK_MS }))
        const where = `the label ${environmentLabel} of the namespace ${namespace},`
        return { where, name: labels[environmentLabel] }
      } finally {
        await client.close()
      }
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      // Without a kubeconfig there is nothing to ask.
      const isAsked = kubeconfig !== undefined || context !== undefined
      if (isAsked || !isKubeError(error, 'config')) {
        warn(`only the name of the namespace ${namespace} was checked: ${error.message}`)
      }
      return undefined
    }
  }
}
