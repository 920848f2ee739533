import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { fileDirectories } from '../../../src/base/watch/watched-paths.ts'
import { WatchedFiles } from '../../../src/base/watch/watched-files.ts'

let end = async (): Promise<void> => undefined
afterEach(() => end())

// Certificates of the webhook were watched in their directory alone: what changed behind a link was
// found by the next poll.
it('sees changes behind symbolic links, swaps of links, and files that come late', async () => {
  const root = await mkdtemp(join(tmpdir(), 'squall-watched-'))
  await mkdir(join(root, 'far'))
  await mkdir(join(root, 'near'))
  await writeFile(join(root, 'far/a'), '1')
  await symlink('../far/a', join(root, 'near/a'))
  const paths = ['a', 'b'].map((name) => join(root, 'near', name))
  const { files, onLook, shows } = await watched(root, paths)
  const changes: readonly (readonly [string, () => Promise<void>])[] = [
    ['2,', () => writeFile(join(root, 'far/a'), '2')],
    ['2,3', () => writeFile(join(root, 'near/b'), '3')],
    [
      ',3',
      async () => {
        await symlink('../far/c', join(root, 'near/new'))
        await rename(join(root, 'near/new'), join(root, 'near/a'))
      },
    ],
    ['4,3', () => writeFile(join(root, 'far/c'), '4')],
  ]
  for (const [text, change] of changes) {
    const seen = shows(text)
    await change()
    await seen
  }
  await files.close()
  onLook(() => expect.unreachable())
  await files.look()
})

// A file behind a link that had just been led to it was found by the next poll.
it('sees a file that is written while the link to it is looked at', async () => {
  const root = await mkdtemp(join(tmpdir(), 'squall-watched-'))
  const link = join(root, 'a')
  await writeFile(join(root, 'v0'), '0')
  await symlink('v0', link)
  const { shows } = await watched(root, [link])
  for (let round = 1; round <= 20; round++) {
    const dangles = shows('')
    await symlink(`v${round}`, join(root, 'new'))
    await rename(join(root, 'new'), link)
    await dangles
    const found = shows(String(round))
    await writeFile(join(root, `v${round}`), String(round))
    await found
  }
})

/** Watches files in a directory, which is removed after the test. */
async function watched(root: string, paths: readonly string[], settleMs = 1) {
  let looked = (): void => undefined
  const onLook = (act: () => void): void => void (looked = act)
  const files = new WatchedFiles(paths, () => looked(), { settleMs, pollMs: 3_600_000 })
  end = async () => {
    await files.close()
    await rm(root, { recursive: true })
  }
  /** Resolves when a look finds these contents. */
  const shows = (text: string): Promise<void> =>
    new Promise((resolve) => {
      onLook(() => {
        if (paths.map(contentOf).join() === text) resolve()
      })
    })
  await files.start()
  return { files, onLook, shows }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

// A ConfigMap that comes and changes at once: its first content is gone before its directory is
// watched.
it('looks again when a directory is replaced before it is watched', async () => {
  const root = await mkdtemp(join(tmpdir(), 'squall-watched-'))
  const link = async (to: string, from: string): Promise<void> => {
    await symlink(to, join(root, 'next'))
    await rename(join(root, 'next'), join(root, from))
  }
  await mkdir(join(root, 'old'))
  await mkdir(join(root, 'new'))
  await link('old', 'data')
  let looks = 0
  let onLook = (): void => undefined
  const lookedAfter = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onLook = () => {
        if (looks > count) resolve()
      }
      onLook()
    })
  let replacedAt: (look: number) => void = () => undefined
  const replaced = new Promise<number>((resolve) => (replacedAt = resolve))
  const directories = async () => {
    const found = await fileDirectories([join(root, 'a')])
    if (found.has(join(root, 'old'))) {
      await link('new', 'data')
      await rm(join(root, 'old'), { recursive: true })
      // The events about this come before anybody follows the new link, and are about nothing.
      await sleep(20)
      replacedAt(looks)
    }
    return found
  }
  const files = new WatchedFiles(
    directories,
    () => {
      looks++
      onLook()
    },
    { settleMs: 1, pollMs: 3_600_000 },
  )
  end = async () => {
    await files.close()
    await rm(root, { recursive: true })
  }
  await files.start()
  // The second look is that of the watch that is set up.
  await lookedAfter(1)
  await files.look()
  await link('data/a', 'a')
  await lookedAfter(await replaced)
})

// The stop key is watched beside the rules: once their directory was replaced, both were polled.
it('sees changes in a replaced directory that is watched for several files', async () => {
  const root = await mkdtemp(join(tmpdir(), 'squall-watched-'))
  const directory = join(root, 'rules')
  await mkdir(directory)
  await writeFile(join(directory, 'b'), '0')
  const first = await watched(root, [join(directory, 'a')])
  const { files } = first
  // The first watch is replaced while the second one is still that of the old directory.
  const second = await watched(root, [join(directory, 'b')], 50)
  const endSecond = end
  end = () => files.close().then(endSecond)
  const replaced = second.shows('')
  await rename(directory, join(root, 'old'))
  await mkdir(directory)
  await replaced
  for (const text of ['1', '2', '3']) {
    const both = Promise.all([first.shows(text), second.shows(text)])
    await writeFile(join(directory, 'a'), text)
    await writeFile(join(directory, 'b'), text)
    await both
  }
})
