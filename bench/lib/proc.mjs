import { execFileSync } from 'node:child_process'
import { accessSync, constants, readFileSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const TICKS_PER_SECOND = ticksPerSecond()
/** The largest valid difference between the two clocks of the kernel, in microseconds. */
const COARSE_MICROS = 3e6 / TICKS_PER_SECOND

function ticksPerSecond() {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) || 100
  } catch {
    return 100
  }
}

/**
 * User and system time of a process with all its threads, in microseconds, in steps of a tick.
 * @param {number} pid
 */
export function cpuMicros(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The program's name may hold spaces and brackets, so fields are counted after its last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
}

/** The same by the scheduler's own clock: exact, but without threads that have ended. */
function scheduledMicros(pid) {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    return tasks.reduce((sum, task) => {
      const text = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8')
      return sum + Number(text.split(' ')[0]) / 1000
    }, 0)
  } catch {
    return Number.NaN
  }
}

/**
 * Starts to count a process's CPU time; the function returned tells the microseconds since then.
 * @param {number} pid
 * @returns {() => number}
 */
export function cpuMeter(pid) {
  const [ticks, scheduled] = [cpuMicros(pid), scheduledMicros(pid)]
  return () => {
    const coarse = cpuMicros(pid) - ticks
    const exact = scheduledMicros(pid) - scheduled
    return Math.abs(exact - coarse) <= COARSE_MICROS ? exact : coarse
  }
}

/**
 * Resident memory of a process in MiB: now, and the most it ever was.
 * @param {number} pid
 */
export function memoryMiB(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  /** @param {string} key */
  const field = (key) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { now: field('VmRSS'), peak: field('VmHWM') }
}

/**
 * Where a program lies: where a variable of the environment says, on PATH, or in the directories
 * where servers are installed.
 * @param {string} name
 * @param {string} [variable]
 * @returns {string | undefined}
 */
export function findProgram(name, variable) {
  const named = variable === undefined ? undefined : process.env[variable]
  if (named !== undefined && named !== '') return isProgram(named) ? named : undefined
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
  ]
  return directories.map((directory) => join(directory, name)).find(isProgram)
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
