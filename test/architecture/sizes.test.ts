import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { wideClasses } from './sizes.ts'
import { sourceFiles } from './source-files.ts'

const ROOT = new URL('../../', import.meta.url)
const FILE_LINES = 500

/** Every text file of the source, with its content. */
async function sources(): Promise<ReadonlyMap<string, string>> {
  return new Map(
    await Promise.all(
      (await sourceFiles()).map(
        async (file) => [file, await readFile(new URL(file, ROOT), 'utf8')] as const,
      ),
    ),
  )
}

it('classes of the source have at most 12 public members: move a group into its own class', async () => {
  const modules = [...(await sources())].filter(([file]) => /\.[jt]s$/.test(file))
  expect(modules.flatMap(([file, text]) => wideClasses(file, text))).toEqual([])
})

it('files of src have at most 500 lines', async () => {
  const long = [...(await sources())]
    .map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES)
    .map(({ file, lines }) => `${file} has ${lines} lines, limit ${FILE_LINES}: split it by idea`)
  expect(long).toEqual([])
})

it('a class counts what others can name', () => {
  const twelve = Array.from({ length: 12 }, (_, i) => `m${i}() {}`).join('\n')
  const uncounted = '#a = 1\nprivate b = 1\nprotected c() {}\nconstructor() {}\nset m0(v) {}'
  const wide = (text: string): readonly string[] => wideClasses('a.ts', text)
  expect(wide(`class A {\n${twelve}\n${uncounted}\n}`)).toEqual([])
  expect(wide(`class A {\n${twelve}\nstatic m0 = 1\n}`)).toEqual(['a.ts:1: A has 13 members'])
  expect(wide(`const a = class {\n${twelve}\nreadonly n = 1\n}`)).toEqual([
    'a.ts:1: a has 13 members',
  ])
})
