import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const PREFIX = 'next-'
/** A program that runs loads files of its own build later on, so that they stay for a day. */
const KEPT_MS = 86_400_000

/**
 * Gives `use` a new directory under `parent` that ends with it; removes those of processes that
 * were killed.
 */
export async function ownDirectory(parent, use) {
  await mkdir(parent, { recursive: true })
  for (const name of await readdir(parent)) {
    if (name.startsWith(PREFIX) && !isAlive(Number(name.slice(PREFIX.length)))) {
      await rm(join(parent, name), { recursive: true, force: true })
    }
  }
  const own = join(parent, `${PREFIX}${process.pid}/`)
  await rm(own, { recursive: true, force: true })
  await mkdir(own)
  try {
    return await use(own)
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

/** Puts a directory in the place of another, which moves beside the new one's old place. */
export async function putDirectory(from, to) {
  for (let tries = 0; ; tries++) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (tries > 100 || !['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
      await rename(to, `${from}-${tries}`).catch(ifThere)
    }
  }
}

/**
 * Puts each file of one directory into another at once, `last` as the last one, so that what loads
 * files there finds whole ones. Files that no longer belong there are removed when they are a day
 * old.
 */
export async function putFiles(from, to, last) {
  const files = await filesOf(from)
  for (const file of [...files.filter((each) => each !== last), last]) {
    await mkdir(dirname(join(to, file)), { recursive: true })
    await rename(join(from, file), join(to, file))
  }
  for (const file of await filesOf(to)) {
    if (files.includes(file)) continue
    const { mtimeMs } = (await stat(join(to, file)).catch(ifThere)) ?? { mtimeMs: Infinity }
    if (Date.now() - mtimeMs > KEPT_MS) await rm(join(to, file), { force: true })
  }
}

async function filesOf(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name).slice(join(directory, '/').length))
}

function ifThere(error) {
  if (error.code !== 'ENOENT') throw error
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
