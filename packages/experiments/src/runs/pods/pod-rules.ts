import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError } from '#admin-api'
import {
  asKubeError,
  type ClaimedKey,
  ClaimLostError,
  configMapKeys,
  type InjectedPod,
  type KubeClient,
  KubeError,
  restoreClaimed,
  textBefore,
  touchPods,
  writeClaimed,
} from '#kubernetes'
import type { ReplacedRules } from '../../experiment/sidecars.ts'
import { rejectionError, RulesChangedError } from '../../experiment/rejection.ts'
import { targetText } from '#rules'
import type { Fields } from '#base'
import type { RulesVersions } from './rules-versions.ts'

/** Describes the rules that an experiment replaces in a ConfigMap. */
export interface PodRulesOptions {
  readonly client: KubeClient
  readonly target: ClaimedKey
  readonly id: string
  readonly by: string
  readonly expiryMs: number
  /** The labels of the pods that take part: no other pod is armed. */
  readonly labels: Readonly<Record<string, string>>
  readonly before: Fields | undefined
  readonly versions: RulesVersions
  /** The pods of the last look. */
  readonly pods: () => readonly InjectedPod[]
  readonly onWrite: (appliedAt: number) => void
}

/** The kubelet may deliver a ConfigMap this late to a pod that cannot be touched. */
const DELIVERY_MS = 180_000
/** The API server may be away for this long at the end of an experiment. */
const RESTORE_MS = 30_000
const PAUSE_MS = 1_000
const HOPELESS: ReadonlySet<string> = new Set(['forbidden', 'unauthorized', 'invalid', 'too_large'])

/** Replaces the rules of pods during an experiment. */
export function podRules(options: PodRulesOptions): ReplacedRules {
  const { client, target, id, by, expiryMs, labels, before, versions } = options
  let isClaimed = false
  const touch = async (): Promise<KubeError | undefined> => {
    const running = options.pods().filter(({ sidecar }) => sidecar === 'running')
    const at = new Date()
    return (await touchPods(client, running, target.prefix, at, {}))[0]
  }
  return {
    backup: undefined,
    write: async (text, digest, appliedAt) => {
      const targeted = targetText(text, labels)
      if (!targeted.ok) throw notActive(targeted.wrong, targeted.fix)
      options.onWrite(appliedAt)
      versions.add(digest, { key: target.key, text: targeted.text })
      const until = new Date(client.now() + expiryMs).toISOString()
      try {
        const first = isClaimed ? undefined : { before: textBefore(before, target.key) }
        const written = { claim: { id, by, until }, text: targeted.text, first }
        versions.keep(configMapKeys(await writeClaimed(client, target, written, {})))
        isClaimed = true
        const trouble = await touch()
        if (trouble !== undefined && expiryMs < DELIVERY_MS) {
          throw notActive(
            `pods cannot be annotated, so the kubelet may deliver the rules after they have expired: ${trouble.message}`,
            'get the right to patch pods, or set sidecar.expiry to 5m',
          )
        }
      } catch (error) {
        if (error instanceof ClaimLostError) throw new RulesChangedError(error.message)
        if (!(error instanceof KubeError)) throw error
        if (!HOPELESS.has(error.code)) throw new AdminError(error.message, { cause: error })
        throw notActive(error.message, 'the ConfigMap must be writable with this kubeconfig')
      }
    },
    restore: async () => {
      const until = performance.now() + RESTORE_MS
      for (;;) {
        try {
          const outcome = await restoreClaimed(client, target, id, {})
          await touch()
          return outcome === 'restored' || (outcome === 'gone' && !isClaimed)
        } catch (error) {
          if (performance.now() > until || HOPELESS.has(asKubeError(error).code)) throw error
          await sleep(PAUSE_MS)
        }
      }
    },
  }
}

function notActive(wrong: string, fix: string): Error {
  return rejectionError('RULES_NOT_ACTIVE', wrong, fix)
}
