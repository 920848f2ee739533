import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The directories of the source: the sidecar, and each package. */
export const SOURCES: readonly string[] = [
  'src',
  ...(await readdir(`${ROOT}packages`)).sort().map((name) => `packages/${name}/src`),
]

/** Returns the paths of all files of the source, relative to the project. */
export async function sourceFiles(): Promise<readonly string[]> {
  return filesBelow(SOURCES)
}

/** Returns the paths of all files of tests, relative to the project. */
export async function testSources(): Promise<readonly string[]> {
  return filesBelow(SOURCES.map((directory) => directory.replace(/src$/, 'test')))
}

async function filesBelow(directories: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    directories.map(async (directory) => {
      const paths = await readdir(ROOT + directory, { recursive: true })
      return paths.filter((path) => /\.\w+$/.test(path)).map((path) => `${directory}/${path}`)
    }),
  )
  return found.flat().sort()
}
