import { systemReason } from '#base'
import { constants } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessIdentity, statOf } from './process-identity.ts'
import { rejectionError } from './rejection.ts'
import type { Killing } from './sidecars.ts'

/** Selects a process. */
export interface Victim {
  readonly pidFile: string
  /** A part of the command line. */
  readonly command: string
}

const MAX_PID_TEXT = 32
const MAX_ANCESTORS = 64
const POLL_MS = 50

/**
 * Finds the process that a file names. The file and the process must belong to this user, and the
 * process must not be this process or an ancestor. Throws a `RejectedError`.
 */
export async function findVictim(victim: Victim): Promise<ProcessIdentity> {
  const pid = await readPid(victim.pidFile)
  if ((await statOf(process.pid)) === undefined) {
    throw unsafe('this system has no /proc', 'run on Linux')
  }
  if (await isAncestor(pid)) {
    throw unsafe(`process ${pid} is Squall or one of its ancestors`, 'choose another process')
  }
  const { state, began } = (await statOf(pid)) ?? {}
  if (began === undefined || state === 'Z') {
    throw unsafe(`process ${pid} is not running`, 'start the process, or fix the file')
  }
  const owner = await stat(`/proc/${pid}`).catch(() => undefined)
  if (owner?.uid !== process.getuid?.()) {
    throw unsafe(`process ${pid} belongs to another user`, 'run as the user of the process')
  }
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll(
    '\0',
    ' ',
  )
  if (!line.includes(victim.command)) {
    throw unsafe(
      `the command line of process ${pid} does not contain "${victim.command}"`,
      'another process may have reused the ID: check kill.pidFile and kill.command',
    )
  }
  return { pid, began }
}

/** Returns the killing of the process that a file names, which is checked again each time. */
export function processKilling(victim: Victim): Killing {
  return {
    check: () => findVictim(victim),
    kill: async () => {
      const dead = await findVictim(victim)
      process.kill(dead.pid, 'SIGKILL')
      return {
        what: `process ${dead.pid}`,
        successor: (withinMs, signal) => awaitSuccessor(victim, dead, withinMs, signal),
      }
    },
  }
}

/** Waits until the file names another running process; undefined after the timeout. */
async function awaitSuccessor(
  victim: Victim,
  dead: ProcessIdentity,
  withinMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const until = performance.now() + withinMs
  while (performance.now() < until && !signal.aborted) {
    try {
      const found = await findVictim(victim)
      if (found.pid !== dead.pid || found.began !== dead.began) return `process ${found.pid}`
    } catch {
      // The file is not rewritten yet, or the process is not running yet.
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
  return undefined
}

async function readPid(path: string): Promise<number> {
  const handle = await open(
    path,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  ).catch((error: NodeJS.ErrnoException) => {
    throw unsafe(
      `the file cannot be read (${systemReason(error)})`,
      'specify the PID file that the process writes',
    )
  })
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw unsafe('the path is not a regular file', 'specify a regular file')
    if (stats.uid !== process.getuid?.()) {
      throw unsafe('the file belongs to another user', 'use a file owned by this user')
    }
    if ((stats.mode & 0o022) !== 0) {
      throw unsafe('the file is writable by other users', 'run chmod go-w')
    }
    if (stats.size > MAX_PID_TEXT)
      throw unsafe('the file is too long', 'write only the process ID to the file')
    const text = (await handle.readFile('utf8')).trim()
    const pid = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0
    if (pid <= 1)
      throw unsafe(
        'the file must contain a process ID above 1',
        'write only the process ID to the file',
      )
    return pid
  } finally {
    await handle.close()
  }
}

async function isAncestor(pid: number): Promise<boolean> {
  let at = process.pid
  for (let step = 0; step < MAX_ANCESTORS && at > 0; step++) {
    if (at === pid) return true
    at = (await statOf(at))?.parent ?? 0
  }
  return false
}

function unsafe(wrong: string, fix: string): Error {
  return rejectionError('PID_FILE_UNSAFE', `kill.pidFile: ${wrong}`, fix)
}
