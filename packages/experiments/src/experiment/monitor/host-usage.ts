import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { MonitorError } from './ask.ts'

interface CpuTimes {
  readonly idle: number
  readonly total: number
}

/** The time between the first two readings. */
const FIRST_MS = 100
/** The kernel counts in ticks of 10 ms. */
const MIN_TICKS = 5
const MAX_READINGS = 20

/** Measures the share of the CPU time of this host that is used. */
export class CpuMeter {
  #before: CpuTimes | undefined

  /** Returns the share since the last reading, from 0 to 1. Throws a `MonitorError`. */
  async read(): Promise<number> {
    this.#before ??= await cpuTimes()
    for (let reading = 0; reading < MAX_READINGS; reading++) {
      const now = await cpuTimes()
      const total = now.total - this.#before.total
      if (total >= MIN_TICKS) {
        const idle = now.idle - this.#before.idle
        this.#before = now
        return Math.min(1, Math.max(0, 1 - idle / total))
      }
      await sleep(FIRST_MS)
    }
    throw new MonitorError('/proc/stat does not count')
  }
}

/** Returns the share of the memory of this host that is not available. Throws a `MonitorError`. */
export async function memoryUsage(): Promise<number> {
  const text = await readProc('/proc/meminfo')
  const read = (name: string): number =>
    Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1])
  const share = 1 - read('MemAvailable') / read('MemTotal')
  if (Number.isNaN(share)) throw new MonitorError('/proc/meminfo has an unknown format')
  return share
}

async function cpuTimes(): Promise<CpuTimes> {
  const [line = ''] = (await readProc('/proc/stat')).split('\n')
  // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user.
  const times = line.trim().split(/ +/).slice(1, 9).map(Number)
  const total = times.reduce((sum, time) => sum + time, 0)
  if (!line.startsWith('cpu ') || !(total > 0)) {
    throw new MonitorError('/proc/stat has an unknown format')
  }
  return { idle: times[3]! + (times[4] ?? 0), total }
}

async function readProc(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new MonitorError(`this system has no ${path}`, { cause: error })
  }
}
