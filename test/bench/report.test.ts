import { describe, expect, it } from 'vitest'
import { benchModule, measured } from './bench-modules.ts'

const { addedTable, figuresTable, ratioTable } = await benchModule('lib/report.mjs')

/** A Markdown table as rows of cells, its head first and its rule left out. */
function cellsOf(table: string): string[][] {
  const lines = table.split('\n').filter((_, i) => i !== 1)
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

describe('the tables of the bench', () => {
  it('hold peers against a reference round by round, so that a slow minute falls out', () => {
    // The machine is three times as slow in the last rounds; the ratio is 2 in each of them.
    const rows = [measured('a', [20, 60, 60]), measured('b', [10, 30, 30])]
    expect(cellsOf(ratioTable(rows, ['b', 'absent']))).toEqual([
      ['peer', 'CPU ÷ b', 'speed ÷ b'],
      ['a', '2.00', '1.00'],
      ['b', '1.00', '1.00'],
    ])
  })

  it('take the middle one of the ratios, not the ratio of the middles', () => {
    const rows = [measured('a', [10, 20, 90]), measured('b', [10, 40, 30])]
    expect(cellsOf(ratioTable(rows, ['b']))[1]).toEqual(['a', '1.00', '1.00'])
  })

  it('say nothing against references of which none took part', () => {
    expect(ratioTable([measured('a', [1])], ['b'])).toBe('')
  })

  it('show the middle of the rounds, the range, every error, and a dash where there is no proxy', () => {
    const rows = [
      measured('direct', [undefined, undefined]),
      measured('a', [10, 30, 20], { errors: 2 }),
    ]
    const [head, direct, a] = cellsOf(figuresTable(rows))
    expect(head!.slice(0, 4)).toEqual(['peer', 'CPU µs/call', 'range', 'calls/s'])
    expect(direct!.slice(0, 4)).toEqual(['direct', '–', '–', '500.0'])
    expect(a!.slice(0, 4)).toEqual(['a', '20.0', '10.0–30.0', '500.0'])
    expect(a!.at(-1)).toBe('6')
  })

  it('show long responses in megabytes a second', () => {
    const [head, a] = cellsOf(figuresTable([measured('a', [1])], 10_000_000))
    expect([head![3], a![3]]).toEqual(['MB/s', '5000'])
  })

  it('show what a proxy adds to each quantile of calls without one', () => {
    const rows = [measured('direct', [undefined]), measured('a', [1], { p50Ms: 1.25, p99Ms: 4 })]
    expect(cellsOf(addedTable(rows))).toEqual([
      ['peer', 'p50 + ms', 'p99 + ms', 'p99.9 + ms'],
      ['a', '0.25', '2.00', '0.00'],
    ])
  })
})
