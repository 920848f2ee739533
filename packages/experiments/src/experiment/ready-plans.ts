import { readFileSync } from 'node:fs'

/** What happens in each plan; the plans are files in `plans`. */
const ABOUT: Readonly<Record<string, string>> = {
  latency: 'a tool becomes slow',
  'dependency-failure': 'a dependency of a tool fails',
  'dependency-blocked': 'a dependency of the server is blocked, then restored',
  'held-sessions': 'sessions exhaust a pool of the server',
  'pool-exhaustion': 'calls hang and hold resources',
  'process-kill': 'the server is killed',
  'session-loss': 'the server loses its sessions',
  'schema-drift': 'results change their schema',
  'lying-tool': 'results are plausible but wrong',
  'rate-limit': 'a quota is exhausted',
  'retry-storm': 'failures are retried at every layer',
}

/** Lists the plans that run once their addresses and tools are adapted. */
export const READY_PLANS = Object.entries(ABOUT).map(([name, about]) => {
  // The same below src and below dist.
  const file = new URL(`../experiment/plans/${name}.yaml`, import.meta.url)
  return { name, about, text: readFileSync(file, 'utf8') }
})
