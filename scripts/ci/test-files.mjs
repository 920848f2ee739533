// Which part of the tests a test file belongs to. A file says so in its first line, `// part: NAME`;
// without that line it belongs to `npm test`.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LINE = /^\/\/ part: ([a-z][a-z0-9-]*)\n/

/** The part of files that do not name one: `npm test`. */
export const FAST = 'tests'

/** Returns the paths of all test files, relative to the project. */
export function allTestFiles() {
  const directories = [
    'test',
    ...readdirSync(`${ROOT}packages`).map((name) => `packages/${name}/test`),
  ]
  const all = directories.flatMap((directory) =>
    readdirSync(`${ROOT}${directory}`, { recursive: true, encoding: 'utf8' }).map(
      (path) => `${directory}/${path}`,
    ),
  )
  return all.filter((path) => path.endsWith('.test.ts')).sort()
}

/** Returns the part that a test file belongs to. */
export function partOf(path) {
  const buffer = Buffer.alloc(64)
  const file = openSync(`${ROOT}${path}`, 'r')
  try {
    const length = readSync(file, buffer)
    return LINE.exec(buffer.toString('latin1', 0, length))?.[1] ?? FAST
  } finally {
    closeSync(file)
  }
}

/** Returns the test files of each part. */
export function testFilesByPart() {
  const parts = new Map()
  for (const path of allTestFiles()) {
    const part = partOf(path)
    parts.set(part, [...(parts.get(part) ?? []), path])
  }
  return parts
}
