import { describe, expect, it } from 'vitest'
import { Counts, ENDING_KEYS, endingCounts, originCounts } from '../../src/demo/counts.ts'
import { plannedEnding, seededCalls } from '../../src/demo/demo-tools.ts'

const PAGE = [
  'squall_calls_total{outcome="ok",origin="real",method="tools/call",tool="a"} 90',
  'squall_calls_total{outcome="reset",origin="real",method="tools/call",tool="a"} 4',
  'squall_calls_total{outcome="tool_error",origin="injected",method="tools/call",tool="a"} 6',
  'squall_calls_total{outcome="ok",origin="real",method="tools/list",tool=""} 3',
  'squall_calls_total{outcome="ok",origin="real",method="tools/call",tool="b"} 10',
  'squall_faults_injected_total{rule="r",fault="abort",tool="a"} 6',
  'squall_faults_injected_total{rule="s",fault="delay",tool="b"} 2',
].join('\n')

describe('the counts of a metrics page', () => {
  it('separate injected errors from real ones, by tool', () => {
    const counts = originCounts(PAGE)
    expect(counts.toJSON()).toEqual({
      a: { calls: 100, injected: 6, real: 4, faults: 6 },
      b: { calls: 10, injected: 0, real: 0, faults: 2 },
    })
    expect(counts.total()).toEqual({ calls: 110, injected: 6, real: 4, faults: 8 })
    expect(counts.of('c').calls).toBe(0)
  })

  it('report the increase since an earlier page', () => {
    const now = PAGE.replace('} 90', '} 95').replace('} 4', '} 5')
    const since = originCounts(now).since(originCounts(PAGE))
    expect(since.total()).toEqual({ calls: 6, injected: 0, real: 1, faults: 0 })
  })

  it('hold the outcomes of the upstream, by tool', () => {
    const row = { tool_error: 0, rpc_error: 0, http_error: 0 }
    expect(endingCounts(PAGE).toJSON()).toEqual({
      a: { ...row, calls: 100, ok: 90, reset: 4 },
      b: { ...row, calls: 10, ok: 10, reset: 0 },
    })
  })

  it('do not attribute errors of Squall to the upstream', () => {
    const labels = 'outcome="http_error",origin="squall",method="tools/call",tool="a"'
    const counts = endingCounts(`squall_calls_total{${labels}} 3\n`)
    expect(counts.of('a')).toMatchObject({ calls: 3, http_error: 0 })
  })
})

it('counts calls with an unknown outcome as calls', () => {
  const counts = new Counts(ENDING_KEYS)
  counts.add('a', { calls: 4, ok: 4 })
  const before = counts.copy()
  counts.add('a', { calls: 1, reset: 1 })
  counts.add('a', { calls: 1 })
  expect(counts.since(before).of('a')).toMatchObject({ calls: 2, ok: 0, reset: 1 })
  expect(counts.since(before).total()).toMatchObject({ calls: 2, reset: 1 })
  expect(before.of('a').calls).toBe(4)
})

describe('the demo', () => {
  it('makes the same calls for the same seed', () => {
    expect(seededCalls(1, 50)).toEqual(seededCalls(1, 50))
    expect(seededCalls(1, 50)).not.toEqual(seededCalls(2, 50))
  })

  it('plans which call of a tool fails, and how', () => {
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
