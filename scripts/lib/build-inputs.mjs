import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns a digest of the names and contents of files below a root, in directories too. */
export async function digestOf(root, paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    const isDirectory = (await stat(join(root, path))).isDirectory()
    const files = isDirectory ? await filesOf(root, path) : [path]
    for (const file of files.toSorted((a, b) => (a < b ? -1 : 1))) {
      const bytes = await readFile(join(root, file))
      hash.update(`${file}\0${bytes.length}\0`).update(bytes)
    }
  }
  return hash.digest('hex')
}

async function filesOf(root, directory) {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length))
}
