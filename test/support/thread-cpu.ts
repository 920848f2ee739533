import { readFileSync } from 'node:fs'

/**
 * The CPU time of this thread, in milliseconds. Where only that of all threads is known, it includes
 * collectors of garbage, which on a busy machine spin while they wait for each other.
 */
export function threadCpuMs(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1')) / 1e6
  } catch {
    return process.cpuUsage().user / 1000
  }
}
