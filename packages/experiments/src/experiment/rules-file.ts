import { systemReason } from '#base'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { rejectionError, RulesChangedError } from './rejection.ts'

/** The previous content of a rules file; `bytes` is undefined when there was no file. */
export interface Previous {
  readonly bytes: Uint8Array | undefined
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

const MAX_BYTES = 1024 * 1024
const NEW_FILE = 0o644

/** Replaces the rules file of a sidecar during an experiment, and restores it. */
export class RulesFile {
  readonly backup: { readonly path: string; readonly previous: Previous }
  #written: Buffer | undefined

  private constructor(path: string, previous: Previous) {
    this.backup = { path, previous }
  }

  /** Reads the file. Throws a `RejectedError` when the file may not be replaced. */
  static async open(path: string): Promise<RulesFile> {
    return new RulesFile(path, await readPrevious(path))
  }

  /** Replaces the file atomically. Throws a `RulesChangedError` when another program changed it. */
  async write(text: string): Promise<void> {
    const { path, previous } = this.backup
    if (!(await this.#isOurs())) throw new RulesChangedError(`${path} was changed`)
    const bytes = Buffer.from(text)
    await replace(path, bytes, previous)
    this.#written = bytes
  }

  /** Restores the previous content; false when another program has changed the file. */
  async restore(): Promise<boolean> {
    if (this.#written === undefined) return true
    if (!(await this.#isOurs())) return false
    await restoreFile(this.backup.path, this.backup.previous)
    this.#written = undefined
    return true
  }

  /** Returns true when the file has its previous content or the text written last. */
  async #isOurs(): Promise<boolean> {
    const now = await readFileNow(this.backup.path)
    const expected = this.#written ?? this.backup.previous.bytes
    return now === undefined || expected === undefined
      ? now === expected
      : Buffer.compare(now, expected) === 0
  }
}

/** Restores the previous content of a file. */
export async function restoreFile(path: string, previous: Previous): Promise<void> {
  if (previous.bytes === undefined) await unlink(path)
  else await replace(path, previous.bytes, previous)
}

async function readPrevious(path: string): Promise<Previous> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw unusable(`cannot stat the file (${systemReason(error)})`)
  })
  if (stats === undefined) return { bytes: undefined, mode: NEW_FILE, uid: -1, gid: -1 }
  // Replacing a link would not change the file that the link points to.
  if (!stats.isFile()) throw unusable('not a regular file')
  if (stats.size > MAX_BYTES) throw unusable('the file is larger than 1 MiB')
  try {
    const bytes = await readFileNow(path)
    return { bytes, mode: stats.mode & 0o777, uid: stats.uid, gid: stats.gid }
  } catch (error) {
    throw unusable(`cannot read the file (${systemReason(error)})`)
  }
}

function unusable(why: string): Error {
  return rejectionError(
    'RULES_NOT_ACTIVE',
    `cannot replace sidecar.rulesFile: ${why}`,
    'set sidecar.rulesFile to the file that the sidecar reads, and grant write permission',
  )
}

async function readFileNow(path: string): Promise<Buffer | undefined> {
  try {
    const handle = await open(
      path,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    try {
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function replace(path: string, bytes: Uint8Array, previous: Previous): Promise<void> {
  const beside = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  const handle = await open(beside, 'wx', previous.mode)
  try {
    await handle.writeFile(bytes)
    await handle.chmod(previous.mode)
    // The sidecar may run as another user, and only that user may be able to read the file.
    if (previous.uid >= 0) await handle.chown(previous.uid, previous.gid).catch(() => {})
    await handle.close()
    await rename(beside, path)
  } catch (error) {
    await handle.close().catch(() => {})
    await unlink(beside).catch(() => {})
    throw error
  }
}
