import { expect, it } from 'vitest'
import { plainText } from '#base'
import { textTable } from '../../src/report/text-table.ts'
import { goodShare, type CellRun, type SweepResult } from '../../src/sweep/sweep-result.ts'
import { cellSentence, sweepHtml, sweepTable } from '../../src/sweep/sweep-report.ts'
import type { SweepVerdict } from '../../src/sweep/judge.ts'

function runs(...verdicts: readonly SweepVerdict[]): readonly CellRun[] {
  const run = { exitCode: 0, seconds: 1, calls: 1, offTape: 0, falseUsed: 0, lines: [] }
  return verdicts.map((verdict) => ({ ...run, verdict }))
}

const good = (count: number) => Array.from({ length: count }, () => 'survived' as const)

it('a repeated cell has the share of its good runs with the interval of Wilson', () => {
  const { share } = goodShare(runs(...good(7), 'hung', 'hung', 'failed_openly'))
  expect(share).toMatchObject({ good: 7, runs: 10 })
  // As published for 7 of 10.
  expect([share!.low, share!.high].map((each) => each.toFixed(4))).toEqual(['0.3968', '0.8922'])
  expect(goodShare(runs(...good(10))).share).toMatchObject({ good: 10, runs: 10, high: 1 })
  expect(goodShare(runs(...good(10))).share!.low).toBeCloseTo(0.7225, 3)
})

it('runs without the fault do not count, and a single run has no share', () => {
  expect(goodShare(runs('survived', 'not_reached', 'hung')).share).toMatchObject({
    good: 1,
    runs: 2,
  })
  expect(goodShare(runs('not_reached', 'not_reached'))).toEqual({})
  expect(goodShare(runs('survived'))).toEqual({})
})

it('text, page and sentence show the share with its interval', () => {
  const all = runs(...good(7), 'hung', 'hung', 'hung')
  const cell = { id: '1-error', call: 1, fault: 'error', verdict: 'hung', runs: all } as const
  const result: SweepResult = {
    schema: 'squall.sweep/1',
    squall: '0',
    startedAt: '2026-11-29T09:00:00Z',
    settings: {
      tape: 'a.tape',
      digest: '',
      command: ['agent'],
      check: null,
      match: 'tool',
      faults: ['error'],
      repeat: 10,
      cellTimeoutMs: 1,
    },
    calls: [{ number: 1, tool: 'book', args: '{}', occurrence: 0 }],
    unstable: [],
    cells: [{ ...cell, ...goodShare(all) }],
    left: 0,
  }
  const shown = '7 of 10, 40–89 %'
  expect(plainText(textTable(sweepTable(result)))).toContain(`HUNG (${shown})`)
  expect(cellSentence(result.cells[0]!, result)).toContain(`(good runs: ${shown})`)
  expect(sweepHtml(result)).toContain(`<small>${shown}</small>`)
})
