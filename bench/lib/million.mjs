import { setTimeout as sleep } from 'node:timers/promises'
import { peersNamed } from '../peers/index.mjs'
import { startUpstream } from '../upstream/index.mjs'
import { loadGenerator } from './load.mjs'
import { memoryMiB } from './proc.mjs'
import { startPeer } from './running-peer.mjs'
import { workload } from './workloads.mjs'

const CALLS = 1_000_000
const SLICE_SECONDS = 5
const REST_MS = 5000

/**
 * Sends a million small calls through squall and watches its memory.
 * @param {import('./running-peer.mjs').Setting & { connections: number,
 *   say: (line: string) => void }} plan
 */
export async function million(plan) {
  const small = workload('small')
  const upstream = await startUpstream(small, plan.folder)
  const [squall] = peersNamed(['squall'])
  if (!squall) throw new Error('no squall')
  const missing = squall.missing?.(plan)
  if (missing !== undefined) throw new Error(missing)
  const { child, port } = await startPeer(squall, upstream.port, plan)
  if (!child) throw new Error('squall has no process')
  const { run } = loadGenerator()
  const idle = memoryMiB(child.pid).now
  const { connections, folder } = plan
  let calls = 0
  let errors = 0
  while (calls < CALLS) {
    const slice = { port, workload: small, connections, seconds: SLICE_SECONDS, folder }
    const result = await run(slice)
    if (result.calls === 0) throw new Error(`squall answers no calls: ${child.output().trim()}`)
    calls += result.calls
    errors += result.errors
    plan.say(`${calls} calls, RSS ${memoryMiB(child.pid).now.toFixed(1)} MiB`)
  }
  const { now: after, peak } = memoryMiB(child.pid)
  await sleep(REST_MS)
  const rested = memoryMiB(child.pid).now
  await child.stop()
  await upstream.child.stop()
  return { calls, errors, idle, after, rested, peak }
}
