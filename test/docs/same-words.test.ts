import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import { ORIGINS } from '../../src/mcp/call.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

let rows: readonly (readonly string[])[]

beforeAll(async () => {
  const page = await readFile(`${ROOT}docs/concepts/outcomes.md`, 'utf8')
  const [, part = ''] = page.split('### Names in each interface\n')
  rows = part
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
  expect(rows.length).toBeGreaterThan(5)
})

/** The words of a column. */
function words(column: number): readonly string[] {
  return rows.flatMap((row) => [...row[column]!.matchAll(/`([^`]+)`/g)].map(([, word]) => word!))
}

async function sources(...paths: readonly string[]): Promise<string> {
  const texts = paths.map(async (path) => {
    if (/\.\w+$/.test(path)) return readFile(join(ROOT, path), 'utf8')
    const names = (await readdir(join(ROOT, path))).filter((name) => /\.(ts|js|html)$/.test(name))
    return (await Promise.all(names.map((name) => readFile(join(ROOT, path, name), 'utf8')))).join()
  })
  return (await Promise.all(texts)).join()
}

it.each([
  [
    'terminal',
    1,
    ['packages/tools/src/top/screen', 'packages/experiments/src/report/load-table.ts'],
  ],
  ['admin page', 2, ['src/admin/page']],
  ['report', 3, ['packages/experiments/src/report']],
])('the %s shows the words of the table as whole titles', async (_where, column, paths) => {
  const shown = await sources(...paths)
  // A title is a whole string or the whole text of an element; a rate adds its unit.
  const isShown = (word: string): boolean =>
    ["'", '>', '"'].some((before) =>
      ["'", '<', '"', '/s'].some((after) => shown.includes(`${before}${word}${after}`)),
    )
  expect(words(column).filter((word) => !isShown(word))).toEqual([])
})

it('the metrics and origins of the table exist', () => {
  const names = new Set<string>(METRICS.map(({ name }) => name))
  const found = words(4).map((word) => /^(\w+)(?:\{origin="(\w+)"\})?$/.exec(word)!)
  expect(found.filter(([, name]) => !names.has(name!))).toEqual([])
  const origins = found.flatMap(([, , origin]) => origin ?? [])
  expect(origins.toSorted()).toEqual([...ORIGINS].toSorted())
})
