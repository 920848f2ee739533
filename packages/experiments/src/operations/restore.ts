import { type LineOutput, plain } from '#base'
import type { EXPERIMENT_RESTORE } from '../commands/experiment.ts'
import type { RequestOf } from '#cli'
import {
  type ClaimedKey,
  claimOf,
  findConfigMap,
  podsWithRules,
  restoreClaimed,
  touchPods,
  withClient,
} from '#kubernetes'

/** Faults stay until the rules are restored: an API server that restarts is waited for. */
const PATIENCE_MS = 30_000

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
      if (outcome === 'restored') {
        const pods = await podsWithRules(client, target, true, { signal })
        // Without the right to annotate pods, the kubelet delivers the rules later.
        await touchPods(client, pods, target.prefix, new Date(), { signal })
      }
      const report = { namespace, configMap, outcome, experiment: claim ?? null }
      const owner = claim && `the experiment ${claim.id} of ${claim.by}`
      const texts: Readonly<Record<Outcome, string>> = {
        restored: `restored the rules from before ${owner}`,
        changed: `removed the claim of ${owner}; its rules stay, because another program has changed them`,
        gone: 'not claimed by an experiment',
        claimed: `${owner} may still run: its claim lasts until ${claim?.until}; --force ends it`,
      }
      const text = `configmap ${configMap} in ${namespace}: ${texts[outcome]}\n`
      output.write(json ? `${JSON.stringify(report, null, 2)}\n` : plain(text.trimEnd()) + '\n')
      return outcome === 'claimed' ? FAILED : 0
    },
    PATIENCE_MS,
  )
}
