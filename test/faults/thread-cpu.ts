import { readFileSync } from 'node:fs'

/**
 * The CPU time of this thread, in milliseconds. Where only that of all threads is known, it includes
 * collectors of garbage, which on a busy machine spin while they wait for each other.
 */
function threadCpuMs(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1')) / 1e6
  } catch {
    return process.cpuUsage().user / 1000
  }
}

/** The longest step of some work and all of it, in milliseconds of CPU of this thread. */
export interface Steps {
  readonly most: number
  readonly total: number
}

/** Measures each turn of the event loop until the work has ended. */
export async function stepsOf(work: Promise<unknown>): Promise<Steps> {
  const all = { ended: false }
  void work.finally(() => (all.ended = true))
  let most = 0
  let total = 0
  while (!all.ended) {
    const before = threadCpuMs()
    await new Promise((resolve) => setImmediate(resolve))
    const spent = threadCpuMs() - before
    most = Math.max(most, spent)
    total += spent
  }
  return { most, total }
}
