import type { InjectionContext } from './injection.ts'
import type { Pod } from './pod-types.ts'

/** Labels by which a controller tells its ReplicaSets apart; their value ends the ReplicaSet's name. */
const HASHES = ['pod-template-hash', 'rollouts-pod-template-hash'] as const
const OF_CRON_JOB = /-\d{8}$/
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$/

/**
 * Returns the name of the workload that a person would name: the Deployment, not its ReplicaSet, and
 * the CronJob, not one of its Jobs. A pod without an owner is its own workload.
 */
export function workloadOf(
  { metadata }: Pod,
  { workload }: Pick<InjectionContext, 'workload'>,
): string | undefined {
  const owner = (metadata?.ownerReferences ?? []).find(({ controller }) => controller === true)
  const name =
    workload ??
    (owner === undefined
      ? (metadata?.name ?? metadata?.generateName?.replace(/-+$/, ''))
      : withoutSuffix(owner, metadata?.labels ?? {}))
  return name !== undefined && NAME.test(name) ? name : undefined
}

function withoutSuffix(
  { kind, name }: { readonly kind?: string; readonly name?: string },
  labels: Readonly<Record<string, string>>,
): string | undefined {
  if (kind === 'Job') return name?.replace(OF_CRON_JOB, '')
  if (kind !== 'ReplicaSet') return name
  const hash = HASHES.map((key) => labels[key]).find((value) => name?.endsWith(`-${value}`))
  return hash === undefined ? name : name?.slice(0, -hash.length - 1)
}
