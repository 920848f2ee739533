import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { MERGE } from '../../scripts/ci/parts.mjs'
import { partOf } from '../../scripts/ci/test-files.mjs'

interface Plant {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  readonly tests: readonly string[]
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const list = new URL('../../scripts/lib/plants.mjs', import.meta.url).href
const { PLANTS } = (await import(list)) as { readonly PLANTS: readonly Plant[] }

const merged = new Set(MERGE.map(({ name }) => name))

it('at least ten faults can be planted, each by its own name', () => {
  expect(new Set(PLANTS.map(({ name }) => name)).size).toBe(PLANTS.length)
  expect(PLANTS.length).toBeGreaterThanOrEqual(10)
})

it.each(PLANTS)('the plant $name changes one place of a source file', async (plant) => {
  const source = await readFile(join(ROOT, plant.file), 'utf8')
  expect(plant.file).toMatch(/^(?:src|packages\/\w+\/src)\//)
  expect(source.split(plant.from)).toHaveLength(2)
  expect(plant.to).not.toBe(plant.from)
  expect(plant.tests.filter((test) => !merged.has(partOf(test)))).toEqual([])
})
