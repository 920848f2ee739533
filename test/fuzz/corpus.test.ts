import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readCases, readCorpus } from './engine/corpus.ts'
import { TARGETS } from './targets/all.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const cases = readCases(`${here}cases`)

describe.each(Object.keys(TARGETS))('the inputs that are kept for %s', (name) => {
  test('are stood', async () => {
    const target = await TARGETS[name]!.load()
    const inputs = [...target.seeds, ...readCorpus(`${here}corpus`, name)]
    expect(inputs.length).toBeGreaterThan(10)
    for (const input of inputs) await target.run(Buffer.from(input, 'latin1'))
  })

  test('are stood, where something was found by them once', async () => {
    const target = await TARGETS[name]!.load()
    for (const each of cases.filter((found) => found.target === name)) {
      await target.run(Buffer.from(each.input, 'latin1'))
    }
  })
})
