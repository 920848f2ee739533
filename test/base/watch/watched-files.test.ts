import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
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
  let looked = (): void => undefined
  const files = new WatchedFiles(paths, () => looked(), { settleMs: 1, pollMs: 3_600_000 })
  end = async () => {
    await files.close()
    await rm(root, { recursive: true })
  }
  const shows = (text: string): Promise<void> =>
    new Promise((resolve) => {
      looked = () => {
        if (paths.map(contentOf).join() === text) resolve()
      }
    })
  await files.start()
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
  looked = () => expect.unreachable()
  await files.look()
})

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
