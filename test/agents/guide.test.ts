import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { FALSIFIED_VERDICTS } from '../../src/agents/falsified-verdicts.ts'
import { VERDICTS } from '../../src/agents/verdicts.ts'
import { LABELS } from '../../src/telemetry/metric-labels.ts'

const GUIDE = new URL('../../docs/guides/evaluate-agents.md', import.meta.url)

it('lists the verdicts in the order of their precedence', async () => {
  const section = (await readFile(GUIDE, 'utf8')).split('## Verdicts')[1]!
  const rows = [...section.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)]
  expect(rows.map(([, verdict, when]) => [verdict, when])).toEqual(Object.entries(VERDICTS))
})

it('describes all of them as values of the label', () => {
  const names = [...LABELS.verdict.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(names).toEqual([...Object.keys(VERDICTS), ...FALSIFIED_VERDICTS])
})
