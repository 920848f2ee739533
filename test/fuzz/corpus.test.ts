import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readCases, readCorpus } from './engine/corpus.ts'
import { TARGETS } from './targets/all.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const cases = readCases(`${here}cases`)

test.each(Object.entries(TARGETS))(
  'the files that lead the search for %s exist',
  (_name, target) => {
    const missing = target.files.filter((file) => !existsSync(`${here}../../src/${file}.ts`))
    expect(target.files.length).toBeGreaterThan(0)
    expect(missing).toEqual([])
  },
)

test('the page about fuzzing names targets that exist', () => {
  const page = readFileSync(`${here}../../docs/contributing/fuzzing.md`, 'utf8')
  const named = [...page.matchAll(/--target (\w+)|^\| `(\w+)`/gm)].map((m) => m[1] ?? m[2]!)
  expect([...new Set(named)].toSorted()).toEqual(Object.keys(TARGETS).toSorted())
})

describe.each(Object.keys(TARGETS))('the inputs that are kept for %s', (name) => {
  test('are stood', async () => {
    const target = await TARGETS[name]!.load()
    const inputs = [...target.seeds, ...readCorpus(`${here}corpus`, name)]
    expect(inputs.length).toBeGreaterThan(10)
    let compared = 0
    for (const input of inputs) {
      if ((await target.run(Buffer.from(input, 'latin1'))).compared) compared++
    }
    expect(compared).toBeGreaterThan(5)
  })

  test('are stood, where something was found by them once', async () => {
    const target = await TARGETS[name]!.load()
    for (const each of cases.filter((found) => found.target === name)) {
      await target.run(Buffer.from(each.input, 'latin1'))
    }
  })
})
