import { describe, expect, it } from 'vitest'
import { plannedEnding, seededCalls } from '../../src/demo/demo-tools.ts'

describe('the demo', () => {
  it('makes the same calls for the same seed', () => {
    expect(seededCalls(1, 50)).toEqual(seededCalls(1, 50))
    expect(seededCalls(1, 50)).not.toEqual(seededCalls(2, 50))
  })

  it('plans which call of a tool fails, and how', () => {
    const endings = Array.from({ length: 40 }, (_, i) => plannedEnding('book_flight', i + 1))
    expect(endings.filter((ending) => ending !== 'ok')).toEqual([
      'tool',
      'rpc',
      'http',
      'reset',
      'tool',
    ])
    expect(endings[7]).toBe('tool')
    expect(plannedEnding('search_docs', 100)).toBe('ok')
  })
})
