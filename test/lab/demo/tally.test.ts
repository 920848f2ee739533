import { describe, expect, it } from 'vitest'
import { plannedEnding } from '../../../src/lab/demo/failure-script.ts'
import { tallyOf } from '../../../src/lab/demo/scrape.ts'
import { seededCalls } from '../../../src/lab/demo/seeded-calls.ts'
import { sameRow, Tally } from '../../../src/lab/demo/tally.ts'

function page(...lines: readonly string[]): Tally {
  return tallyOf(lines.map((line) => `squall_calls_total{${line}\n`).join(''))
}

describe('a tally from a metrics page', () => {
  it('holds what the app did, by tool and ending', () => {
    const tally = page(
      'outcome="ok",origin="upstream",method="tools/call",tool="a"} 5',
      'outcome="reset",origin="upstream",method="tools/call",tool="a"} 2',
      'outcome="ok",origin="upstream",method="tools/list",tool=""} 9',
    )
    expect(tally.toJSON()).toEqual({
      a: { calls: 7, ok: 5, tool_error: 0, rpc_error: 0, http_error: 0, reset: 2 },
    })
  })

  it('does not take for the app what others did', () => {
    const tally = page('outcome="http_error",origin="squall",method="tools/call",tool="a"} 3')
    expect(tally.row('a')).toMatchObject({ calls: 3, http_error: 0 })
  })
})

describe('what came since', () => {
  it('is the difference, calls of unknown endings too', () => {
    const tally = new Tally()
    tally.add('a', 'ok', 4)
    const before = tally.copy()
    tally.add('a', 'reset')
    tally.add('a', 'timeout')
    const since = tally.since(before)
    expect(since.row('a')).toMatchObject({ calls: 2, ok: 0, reset: 1 })
    expect(since.total()).toMatchObject({ calls: 2, reset: 1 })
  })

  it('differs when a single number does', () => {
    const one = new Tally()
    const two = new Tally()
    one.add('a', 'reset')
    two.add('a', 'rpc_error')
    expect(sameRow(one.row('a'), two.row('a'))).toBe(false)
    expect(sameRow(one.row('a'), one.copy().row('a'))).toBe(true)
  })
})

describe('what is known beforehand', () => {
  it('is the same calls for the same seed', () => {
    expect(seededCalls(1, 50)).toEqual(seededCalls(1, 50))
    expect(seededCalls(1, 50)).not.toEqual(seededCalls(2, 50))
  })

  it('is which call of a tool fails, and how', () => {
    const endings = Array.from({ length: 40 }, (_, i) => plannedEnding('book_flight', i + 1))
    expect(endings.filter((ending) => ending !== 'ok')).toEqual([
      'tool_error',
      'rpc_error',
      'http_error',
      'reset',
      'tool_error',
    ])
    expect(endings[7]).toBe('tool_error')
    expect(plannedEnding('search_docs', 100)).toBe('ok')
  })
})
