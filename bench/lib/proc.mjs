import { execFileSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const TICKS_PER_SECOND = ticksPerSecond()

function ticksPerSecond() {
  try {
    return Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) || 100
  } catch {
    return 100
  }
}

/**
 * User and system time of a process with all its threads, in microseconds.
 * @param {number} pid
 */
export function cpuMicros(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The program's name may hold spaces and brackets, so fields are counted after its last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
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
 * Where a program lies: on PATH, or in the folders where servers are installed.
 * @param {string} name
 * @returns {string | undefined}
 */
export function findProgram(name) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  for (const folder of folders) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // not here
    }
  }
  return undefined
}
