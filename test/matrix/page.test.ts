import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { expect, test } from 'vitest'
import { matrixPage } from './page.ts'
import { PYTHON_ROWS } from './python-rows.ts'
import { CALL_FAULTS } from '../faults/one-fault.ts'
import { SETTINGS } from './settings.ts'
import { titleOf } from './variant.ts'
import { VARIANTS } from './variants/index.ts'

const file = fileURLToPath(new URL('../../docs/reference/matrix.md', import.meta.url))

test('every fault is in the matrix, with one row for every way to answer', () => {
  const named = new Set<string>(VARIANTS.map(({ fault }) => fault))
  const missing = CALL_FAULTS.map(({ name }) => name).filter((name) => !named.has(name))
  expect(missing, 'add a variant of each to a file in test/matrix/variants').toEqual([])
  const all = SETTINGS.map(({ id }) => id).toSorted()
  for (const { fault, config, rows } of VARIANTS) {
    expect(rows.flatMap((row) => row.in).toSorted(), `${fault}: ${config}`).toEqual(all)
  }
})

test('every variant says what the Python client reports', () => {
  const missing = VARIANTS.map(titleOf).filter((title) => !Object.hasOwn(PYTHON_ROWS, title))
  expect(missing, 'add each to test/matrix/python-rows.ts').toEqual([])
})

test('the page is as the matrix says', async () => {
  const options = { ...(await resolveConfig(file)), filepath: file }
  const page = await format(matrixPage(VARIANTS), options)
  if (process.env['UPDATE'] !== undefined) await writeFile(file, page)
  const kept = await readFile(file, 'utf8').catch(() => '')
  expect(kept, 'docs/reference/matrix.md is stale: run npm run generate').toBe(page)
})
