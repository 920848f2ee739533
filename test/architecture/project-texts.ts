import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DIRECTORIES = ['src', 'packages', 'docs', 'examples', 'deploy', 'scripts', 'bench', '.github']
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'package.json']
const READ = /\.(?:[cm]?[jt]s|sh|md|ya?ml|json|tpl|txt|html)$|Dockerfile$/

/** Returns the texts in a directory, by their paths. */
export async function textsIn(directory: string): Promise<[path: string, text: string][]> {
  const paths = (await readdir(join(ROOT, directory), { recursive: true })).sort()
  // Decisions and notes keep the words of their time.
  const read = paths.filter(
    (path) => READ.test(path) && !/decisions\/|notes\/|^\w+\/test\//.test(path),
  )
  return Promise.all(
    read.map(async (path): Promise<[string, string]> => [
      `${directory}/${path}`,
      await readFile(join(ROOT, directory, path), 'utf8'),
    ]),
  )
}

async function readAll(): Promise<ReadonlyMap<string, string>> {
  const below = await Promise.all(DIRECTORIES.map(textsIn))
  const own = FILES.map(async (path): Promise<[string, string]> => [
    path,
    await readFile(join(ROOT, path), 'utf8'),
  ])
  return new Map([...below.flat(), ...(await Promise.all(own))])
}

/**
 * Texts that people read: documents, help, messages, descriptions of schemas, identifiers,
 * comments.
 */
export const texts = await readAll()
