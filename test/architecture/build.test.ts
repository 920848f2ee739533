import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

interface PutInPlace {
  readonly ownDirectory: (parent: string, use: (own: string) => Promise<void>) => Promise<void>
  readonly putDirectory: (from: string, to: string) => Promise<void>
  readonly putFiles: (from: string, to: string, last: string) => Promise<void>
}

const script = new URL('../../scripts/lib/put-in-place.mjs', import.meta.url).href
const { ownDirectory, putDirectory, putFiles } = (await import(script)) as PutInPlace

const inputs = new URL('../../scripts/lib/build-inputs.mjs', import.meta.url).href
const { digestOf } = (await import(inputs)) as {
  readonly digestOf: (root: string, paths: readonly string[]) => Promise<string>
}

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-build-'))
})

afterEach(() => rm(directory, { recursive: true, force: true }))

test('a build replaces files that programs have open, and keeps those they load later for a day', async () => {
  const dist = join(directory, 'dist')
  await made('dist/cli', { 'main.js': 'old', 'load-1.js': 'old', 'load-0.js': 'older' })
  const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000)
  await utimes(join(dist, 'cli', 'load-0.js'), twoDaysAgo, twoDaysAgo)
  await made('next/cli', { 'main.js': 'new', 'load-2.js': 'new' })
  await putFiles(join(directory, 'next'), dist, 'cli/main.js')
  expect((await readdir(join(dist, 'cli'))).toSorted()).toEqual([
    'load-1.js',
    'load-2.js',
    'main.js',
  ])
  expect(await readFile(join(dist, 'cli', 'main.js'), 'utf8')).toBe('new')
})

test('a reader finds the former or the next directory, however many builds put theirs in place', async () => {
  const to = join(directory, 'js')
  const builds = Array.from({ length: 8 }, (_, build) => build)
  for (const build of builds) await made(`next-${build}/js`, { 'a.js': String(build) })
  await Promise.all(builds.map((build) => putDirectory(join(directory, `next-${build}`, 'js'), to)))
  expect(builds.map(String)).toContain(await readFile(join(to, 'a.js'), 'utf8'))
})

test('a build leaves nothing of its own, nor of one that was killed', async () => {
  await made('next-999999999', { 'a.js': 'left' })
  await made(`next-${process.ppid}`, { 'a.js': 'at work' })
  await ownDirectory(directory, async (own) => {
    await writeFile(join(own, 'a.js'), 'mine')
  })
  const failed = ownDirectory(directory, () => Promise.reject(new Error('no compiler')))
  await expect(failed).rejects.toThrow('no compiler')
  expect(await readdir(directory)).toEqual([`next-${process.ppid}`])
})

test('a build is of other sources when a file is changed, added, renamed or moved into its neighbour', async () => {
  const digest = (): Promise<string> => digestOf(directory, ['src', 'lock.json'])
  await made('src/cli', { 'a.ts': 'one', 'b.ts': 'two' })
  await made('', { 'lock.json': '{}', 'notes.md': 'first' })
  const seen = [await digest()]
  await made('', { 'notes.md': 'second' })
  expect(await digest()).toBe(seen[0])
  await made('src/cli', { 'a.ts': 'onet', 'b.ts': 'wo' })
  seen.push(await digest())
  await made('src/new', { 'a.ts': '' })
  seen.push(await digest())
  await rename(join(directory, 'src/new'), join(directory, 'src/other'))
  seen.push(await digest())
  await made('', { 'lock.json': '[]' })
  seen.push(await digest())
  expect(new Set(seen).size).toBe(5)
})

async function made(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(directory, path), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(directory, path, name), text)
  }
}
