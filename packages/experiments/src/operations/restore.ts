import { type LineOutput, plain } from '#base'
import type { EXPERIMENT_RESTORE } from '../commands/experiment.ts'
import type { RequestOf } from '#cli'
import {
  asKubeError,
  type ClaimedKey,
  claimOf,
  findConfigMap,
  type KubeError,
  podsWithRules,
  restoreClaimed,
  touchPods,
  withClient,
} from '#kubernetes'

/** Faults stay until the rules are restored: an API server that restarts is waited for. */
const PATIENCE_MS = 30_000
const LATE =
  'pods cannot be annotated, so the kubelet may deliver the rules up to two minutes later'

type Outcome = 'restored' | 'changed' | 'gone' | 'claimed'

const FAILED = 1

/** Restores the rules that an experiment replaced; returns the exit code. */
export function restoreRules(
  { cluster, configMap, force, json }: RequestOf<typeof EXPERIMENT_RESTORE>,
  output: LineOutput = process.stdout,
): Promise<number> {
  return withClient(
    cluster,
    async (client, signal) => {
      const namespace = cluster.namespace ?? client.namespace
      const target: ClaimedKey = { namespace, configMap, key: '', prefix: cluster.prefix }
      const claim = claimOf(await findConfigMap(client, target, { signal }), target.prefix)
      let outcome: Outcome = 'gone'
      if (claim !== undefined) {
        const isExpired = Date.parse(claim.until) < client.now()
        outcome =
          isExpired || force
            ? await restoreClaimed(client, target, claim.id, { signal })
            : 'claimed'
      }
      let trouble: KubeError | undefined
      if (outcome === 'restored') {
        const pods = podsWithRules(client, target, true, { signal })
        ;[trouble] = await pods.then(
          (found) => touchPods(client, found, target.prefix, new Date(), { signal }),
          (error: unknown) => [asKubeError(error)],
        )
      }
      const warnings = trouble === undefined ? [] : [`${LATE}: ${trouble.message}`]
      const report = { namespace, configMap, outcome, experiment: claim ?? null, warnings }
      const owner = claim && `the experiment ${claim.id} of ${claim.by}`
      const texts: Readonly<Record<Outcome, string>> = {
        restored: `restored the rules from before ${owner}`,
        changed: `removed the claim of ${owner}; its rules stay, because another program has changed them`,
        gone: 'not claimed by an experiment',
        claimed: `${owner} may still run: its claim lasts until ${claim?.until}; --force ends it`,
      }
      const lines = [
        `configmap ${configMap} in ${namespace}: ${texts[outcome]}`,
        ...warnings.map((each) => `warning: ${each}`),
      ]
      const text = json ? JSON.stringify(report, null, 2) : lines.map(plain).join('\n')
      output.write(`${text}\n`)
      return outcome === 'claimed' ? FAILED : 0
    },
    PATIENCE_MS,
  )
}
