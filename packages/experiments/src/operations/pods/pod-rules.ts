import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError } from '#admin-api'
import {
  asKubeError,
  ClaimLostError,
  type CountedExperiment,
  configMapKeys,
  findConfigMap,
  isHopeless,
  type KubeClient,
  KubeError,
  restoreClaimed,
  textBefore,
  type WatchedPod,
  touchPods,
  writeClaimed,
} from '#kubernetes'
import type { ReplacedRules } from '../../experiment/sidecars.ts'
import { rejectionError, RulesChangedError } from '../../experiment/rejection.ts'
import { targetText } from '#rules'
import type { Fields } from '#base'
import type { Begin } from './open-rejections.ts'

/** The kubelet may deliver a ConfigMap this late to a pod that cannot be touched. */
const DELIVERY_MS = 180_000
/** The API server may be away for this long at the end of an experiment. */
const RESTORE_MS = 30_000
/** The part of the expiry for which a write is repeated: another follows after a third. */
const REPEATS = 6
const PAUSE_MS = 500

interface PodRun {
  readonly id: string
  readonly by: string
  readonly expiryMs: number
  readonly seesBudget: () => boolean
}

/**
 * Asks the budget before each write, because a freeze may begin while the experiment runs, and
 * gives its place back at the end.
 */
export function withinBudget(
  rules: ReplacedRules,
  client: KubeClient,
  { id, by, expiryMs, seesBudget }: PodRun,
  ask: (experiment: CountedExperiment) => Promise<void>,
): ReplacedRules {
  let isRunning = false
  return {
    ...rules,
    write: async (...written) => {
      await ask({ id, by, until: client.now() + expiryMs, isRunning })
      isRunning = true
      await rules.write(...written)
    },
    restore: async () => {
      const isRestored = await rules.restore()
      const ended = { id, by, until: client.now(), isRunning: true }
      // Else its place is free when its claim would have expired.
      if (isRunning && seesBudget()) await ask(ended).catch(() => undefined)
      return isRestored
    },
  }
}

/** Replaces the rules of pods during an experiment; `pods` returns those of the last look. */
export function podRules(
  client: KubeClient,
  { target, labels, configMap: before, versions }: Begin,
  { id, by, expiryMs, seesBudget }: PodRun,
  pods: () => readonly WatchedPod[],
  onWrite: (appliedAt: number) => void,
): ReplacedRules {
  let isClaimed = false
  const touch = (): Promise<KubeError | undefined> => touchRunning(client, pods(), target.prefix)
  return {
    backup: undefined,
    write: async (text, digest, appliedAt) => {
      const targeted = targetText(text, labels)
      if (!targeted.ok) throw notActive(targeted.wrong, targeted.fix)
      onWrite(appliedAt)
      versions.add(digest, { key: target.key, text: targeted.text })
      const until = new Date(client.now() + expiryMs).toISOString()
      try {
        const first = isClaimed ? undefined : { before: textBefore(before, target.key) }
        const written = { claim: { id, by, until }, text: targeted.text, first }
        const write = (): Promise<Fields> =>
          writeClaimed(client, { ...target, seesBudget: seesBudget() }, written, {})
        versions.keep(configMapKeys(await served(write, expiryMs / REPEATS)))
        isClaimed = true
        const trouble = await served(touch, expiryMs / REPEATS)
        if (trouble !== undefined && expiryMs < DELIVERY_MS) {
          throw notActive(
            `pods cannot be annotated, so the kubelet may deliver the rules after they have expired: ${trouble.message}`,
            'get permission to patch pods, or set sidecar.expiry to 5m',
          )
        }
      } catch (error) {
        if (error instanceof ClaimLostError) throw new RulesChangedError(error.message)
        if (!(error instanceof KubeError)) throw error
        if (!isHopeless(error)) throw new AdminError(error.message, { cause: error })
        throw notActive(error.message, 'the ConfigMap must be writable with this kubeconfig')
      }
    },
    restore: async () => {
      const outcome = await served(() => restoreClaimed(client, target, id, {}), RESTORE_MS)
      // Rules that are not delivered expire.
      await served(touch, Math.min(expiryMs, RESTORE_MS)).catch(asKubeError)
      if (outcome !== 'gone' || !isClaimed) return outcome !== 'changed'
      // The response to an earlier attempt may be lost.
      const found = await served(() => findConfigMap(client, target, {}), RESTORE_MS)
      return textBefore(found, target.key) === textBefore(before, target.key)
    },
  }
}

/** Annotates the pods that run; returns the reason why they may not be annotated, throws others. */
async function touchRunning(
  client: KubeClient,
  pods: readonly WatchedPod[],
  prefix: string,
): Promise<KubeError | undefined> {
  const running = pods.flatMap(({ pod }) => (pod.sidecar === 'running' ? [pod] : []))
  const [trouble] = await touchPods(client, running, prefix, new Date(), {})
  if (trouble !== undefined && !isHopeless(trouble)) throw trouble
  return trouble
}

/** Repeats an action for a time while the API server does not serve it. */
async function served<Result>(action: () => Promise<Result>, forMs: number): Promise<Result> {
  const until = performance.now() + forMs
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (isHopeless(asKubeError(error)) || performance.now() > until) throw error
      await sleep(PAUSE_MS)
    }
  }
}

function notActive(wrong: string, fix: string): Error {
  return rejectionError('RULES_NOT_ACTIVE', wrong, fix)
}
