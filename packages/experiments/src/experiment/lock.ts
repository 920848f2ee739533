import { randomUUID } from 'node:crypto'
import { fieldsOf, makeDirectory, readJsonFile, replaceText, sha256Of, shownUrl } from '#base'
import { link, mkdir, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type ProcessIdentity, statOf } from './process-identity.ts'
import { rejectionError } from './rejection.ts'
import type { Previous } from './rules-file.ts'

/** The holder of a lock, and the state to restore when the holder dies. */
export interface LockHolder extends ProcessIdentity {
  readonly id: string
  readonly host: string
  readonly startedAt: string
  readonly target: string
  readonly backup?: Backup
}

/** The previous content of a replaced rules file. */
export interface Backup extends Omit<Previous, 'bytes'> {
  readonly path: string
  /** Base64; null when there was no file. */
  readonly bytes: string | null
}

/** A lock that prevents other experiments of this machine on the same target. */
export type Lock = ReturnType<typeof lockAt>

const ATTEMPTS = 100
const PAUSE_MS = 20
/** A process that takes longer than this to remove a stale lock has died as well. */
const CLEARING_MS = 5000

/** Locks a target. Throws a `RejectedError` when a running process holds the lock. */
export async function takeLock(directory: string, target: URL, id: string) {
  const path = join(directory, `${keyOf(target)}.lock`)
  const shown = shownUrl(target)
  const own: LockHolder = {
    pid: process.pid,
    began: (await statOf(process.pid))?.began,
    id,
    host: hostname(),
    startedAt: new Date().toISOString(),
    target: shown,
  }
  await makeDirectory(directory, 0o700)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await create(path, own)) return lockAt(path, own, undefined)
    const holder = await readHolder(path)
    if (holder !== undefined && (await isAlive(holder))) {
      throw rejectionError(
        'EXPERIMENT_RUNNING',
        `the experiment ${holder.id} is already running on ${shown} (process ${holder.pid}, since ${holder.startedAt})`,
        'wait until it has finished, or stop it with Ctrl-C',
      )
    }
    const dead = await takeFromDead(path, own)
    if (dead !== undefined) return lockAt(path, own, dead.holder)
    await sleep(PAUSE_MS)
  }
  throw rejectionError(
    'EXPERIMENT_RUNNING',
    `other experiments are starting on ${shown}`,
    'try again',
  )
}

/** Creates the file atomically, unless it exists. */
async function create(path: string, own: LockHolder): Promise<boolean> {
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, JSON.stringify(own), { flag: 'wx', mode: 0o600 })
  try {
    await link(beside, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    await unlink(beside).catch(() => {})
  }
}

/** Replaces the lock of a dead holder. Replacements are serialized: none removes a new lock. */
async function takeFromDead(
  path: string,
  own: LockHolder,
): Promise<{ readonly holder: LockHolder | undefined } | undefined> {
  const clearing = `${path}.clearing`
  try {
    await mkdir(clearing)
  } catch {
    const since = await stat(clearing).catch(() => undefined)
    // A time ahead of the clock is of a clock that was set back.
    if (since !== undefined && Math.abs(Date.now() - since.mtimeMs) > CLEARING_MS) {
      await rmdir(clearing).catch(() => {})
    }
    return undefined
  }
  try {
    const holder = await readHolder(path)
    if (holder !== undefined && (await isAlive(holder))) return undefined
    await unlink(path).catch(() => {})
    return (await create(path, own)) ? { holder } : undefined
  } finally {
    await rmdir(clearing).catch(() => {})
  }
}

/** Returns a lock that is held; `dead` is the previous holder, if it died while holding the lock. */
function lockAt(path: string, own: LockHolder, dead: LockHolder | undefined) {
  return {
    dead,
    /** Records the content to restore if this process dies. */
    async note(file: string, { bytes, mode, uid, gid }: Previous): Promise<void> {
      const base64 = bytes === undefined ? null : Buffer.from(bytes).toString('base64')
      const backup: Backup = { path: file, bytes: base64, mode, uid, gid }
      await replaceText(path, JSON.stringify({ ...own, backup }), 0o600)
    },
    async release(): Promise<void> {
      const holder = await readHolder(path)
      if (holder?.id === own.id) await unlink(path).catch(() => {})
    },
  }
}

async function readHolder(path: string): Promise<LockHolder | undefined> {
  const value = fieldsOf(await readJsonFile(path))
  const { pid, id } = value
  const isHolder = Number.isSafeInteger(pid) && Number(pid) >= 1 && typeof id === 'string'
  return isHolder ? (value as unknown as LockHolder) : undefined
}

function keyOf({ protocol, host, pathname }: URL): string {
  return sha256Of(`${protocol}//${host}${pathname}`).slice(0, 24)
}
