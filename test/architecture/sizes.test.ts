import { readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { compare, formatList, oversized, parseList } from './sizes.ts'
import { sourceFiles } from './source-files.ts'

const ROOT = new URL('../../', import.meta.url)
const LIST = new URL('large-functions.txt', import.meta.url)
const SHRINK = 'UPDATE=1 npx vitest run test/architecture/sizes.test.ts'
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

function sizesOf(text: string): readonly string[] {
  return oversized('a.ts', text).map(
    ({ line, name, value, unit }) => `${line}: ${name} ${value} ${unit}`,
  )
}

const BODY = '\n'.repeat(50)
const SIX = 'a: 1, b: 1, c: 1, d: 1, e: 1, ...f: 1[]'

it('functions and classes of src stay within the limits, and the list of exceptions only shrinks', async () => {
  const measured = [...(await sources())]
    .filter(([file]) => /\.[jt]s$/.test(file))
    .flatMap(([file, text]) => oversized(file, text))
  const before = await readFile(LIST, 'utf8')
  const { problems, needed } = compare(measured, parseList(before))
  expect(problems).toEqual([])
  if (process.env['UPDATE'] !== undefined) await writeFile(LIST, formatList(needed))
  const list = await readFile(LIST, 'utf8')
  expect(list, `large-functions.txt is stale: run ${SHRINK}`).toBe(formatList(needed))
})

it('files of src have at most 500 lines', async () => {
  const long = [...(await sources())]
    .map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES)
    .map(({ file, lines }) => `${file} has ${lines} lines, limit ${FILE_LINES}: split it by idea`)
  expect(long).toEqual([])
})

it('a function counts from its first line to its last, with comments and empty lines', () => {
  expect(sizesOf(`\nfunction long() {${BODY}}`)).toEqual(['2: long 51 lines'])
  expect(sizesOf(`function short() {${BODY.slice(1)}}`)).toEqual([])
  expect(sizesOf(`function commented() {\n${'//\n'.repeat(49)}}`)).toEqual([
    '1: commented 51 lines',
  ])
  expect(sizesOf(`class A {\n  private async m() {${BODY}}\n}`)).toEqual(['2: A.m 51 lines'])
  expect(sizesOf(`const a: () => void = () => {${BODY}}`)).toEqual(['1: a 51 lines'])
  expect(sizesOf(`const a = { 'b c': { d() {${BODY}} } }`)).toEqual(['1: a.bc.d 51 lines'])
  expect(sizesOf(`function f() {\n  g(() => {${BODY}})\n}`)).toEqual([
    '1: f 53 lines',
    '2: f.callback 51 lines',
  ])
  expect(sizesOf(`;(() => {${BODY}})()`)).toEqual([])
  expect(sizesOf(`;(() => {\nfunction f() {${BODY}}})()`)).toEqual(['2: f 51 lines'])
})

it('parameters count in constructors and types of functions, but not `this` and types', () => {
  expect(
    sizesOf(`class A { constructor(private readonly ${SIX.replace('...f', 'f')}) {} }`),
  ).toEqual(['1: A.constructor 6 parameters'])
  expect(sizesOf(`const f = (${SIX}) => 1`)).toEqual(['1: f 6 parameters'])
  expect(sizesOf(`type F = (${SIX}) => void`)).toEqual(['1: F 6 parameters'])
  expect(sizesOf(`interface F { m(${SIX}): void }`)).toEqual(['1: F.m 6 parameters'])
  expect(sizesOf('function f(this: 1, a: 1, b: 1, c: 1, d: 1, e: 1) {}')).toEqual([])
  expect(sizesOf('function f<A, B, C, D, E, F>(a: F) {}\nf<1, 1, 1, 1, 1, 1>(1)')).toEqual([])
})

it('a class counts what others can name', () => {
  const twelve = Array.from({ length: 12 }, (_, i) => `m${i}() {}`).join('\n')
  const uncounted = '#a = 1\nprivate b = 1\nprotected c() {}\nconstructor() {}\nset m0(v) {}'
  expect(sizesOf(`class A {\n${twelve}\n${uncounted}\n}`)).toEqual([])
  expect(sizesOf(`class A {\n${twelve}\nstatic m0 = 1\n}`)).toEqual(['1: A 13 members'])
  expect(sizesOf(`const a = class {\n${twelve}\nreadonly n = 1\n}`)).toEqual(['1: a 13 members'])
})

it('the list of exceptions shrinks and follows moved functions, but does not grow', () => {
  const list = ['src/a.ts long 80 lines\n', 'src/b.ts A.wide 6 parameters\n']
  const judge = (...rows: readonly string[]): readonly [string, readonly string[]] => {
    const measured = parseList(rows.join('')).map((size) => ({ ...size, line: 7 }))
    const { problems, needed } = compare(measured, parseList(list.join('')))
    return [formatList(needed), problems]
  }
  expect(judge(...list)).toEqual([list.join(''), []])
  expect(judge('src/moved.ts long 70 lines\n')).toEqual(['src/moved.ts long 70 lines\n', []])
  expect(judge('src/a.ts long 81 lines\n', 'src/moved.ts A.wide 7 parameters\n')).toEqual([
    'src/a.ts long 80 lines\nsrc/moved.ts A.wide 6 parameters\n',
    [
      expect.stringMatching(
        /^src\/a\.ts:7: long has 81 lines, limit 80 \(large-functions\.txt\): move /,
      ),
      expect.stringMatching(/^src\/moved\.ts:7: A\.wide has 7 parameters, limit 6 \(.*\): join /),
    ],
  ])
  const another = ['src/a.ts new 51 lines\n', 'src/a.ts long 79 lines\n']
  expect(judge(list[0]!, ...another)).toEqual([
    list[0],
    [
      expect.stringMatching(/^src\/a\.ts:7: long has 79 lines, limit 50: /),
      expect.stringMatching(/^src\/a\.ts:7: new has 51 lines, limit 50: /),
    ],
  ])
})
