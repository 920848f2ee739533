import { print } from '#cli'
import type { CheckRequest } from '../commands/check.ts'
import { type CheckGroup, checksJson, checksText } from './result.ts'
import { checkLocal } from './local.ts'

const FAILED = 1

/** Checks server, rules, sidecar and cluster; returns the exit code. */
export async function checkCommand({ cluster, json, ...local }: CheckRequest): Promise<number> {
  const groups: CheckGroup[] = []
  const isLocal = [local.url, local.rules, local.admin].some((named) => named !== undefined)
  if (isLocal || cluster === undefined) groups.push(...(await checkLocal(local)))
  if (cluster !== undefined) {
    groups.push(...(await (await import('./cluster.ts')).checkCluster(cluster)))
  }
  const ok = groups.every(({ checks }) => checks.every(({ result }) => result !== 'failed'))
  await print(json ? checksJson(groups, ok) : checksText(groups))
  return ok ? 0 : FAILED
}
