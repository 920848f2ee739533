import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { METRICS } from '../../src/telemetry/metric-table.ts'

it('the page about traces maps each metric once to the conventions', async () => {
  const page = await readFile(new URL('../../docs/guides/tracing.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('## Metrics')
  const mapped = [...table.matchAll(/`(squall_\w+)`/g)].map(([, name]) => name)
  const all: readonly string[] = METRICS.map(({ name }) => name)
  expect(new Set(mapped)).toEqual(new Set(all))
  expect(mapped).toHaveLength(all.length)
})
