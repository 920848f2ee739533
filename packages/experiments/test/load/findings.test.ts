// part: slow
import { expect, test } from 'vitest'
import { parseSlo } from '../../src/load/results/slo.ts'
import { reportMarkdown } from '../../src/report/markdown.ts'
import { writeReport } from '../../src/report/write-report.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { scriptedListener } from '../../../../test/support/wire.ts'
import { load } from './load-run.ts'

const opened = closers()
const RULES = 'rules: [{ name: broken, match: { tool: work }, faults: [abort: { status: 503 }] }]'

test('reports have the sentences about what agents did, and tell squall load apart', async () => {
  const flags = ['--task-window', '1s']
  const upstream = scriptedListener(() => 'ok')
  const { squall } = opened(await startSquall({ rules: RULES, flags, upstream }))
  const result = await load({
    url: new URL(`http://127.0.0.1:${squall.port}/mcp`),
    sidecars: [squall.admin],
    work: { tools: ['work'] },
    pace: { clients: 5, tasks: 5 },
    checks: { slo: [parseSlo('gave-up<100%')] },
  })
  const sentence = 'The agent gave up at once after 5 of 5 retryable errors of work.'
  expect(result.agents?.findings).toMatchObject([{ kind: 'gave_up', source: 'load', sentence }])
  const runs = [{ title: 'a', result }]
  expect(reportMarkdown(runs)).toContain(sentence)
  expect(writeReport(runs)).toContain(`${sentence}<small>squall load</small>`)
})
