import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { InFlightCalls } from '../../src/mcp/in-flight-calls.ts'

function table(limit = 3, ttl = 10) {
  const evicted: string[] = []
  return {
    evicted,
    calls: new InFlightCalls<string>({ limit, ttl }, (value) => evicted.push(value)),
  }
}

test('ids of two types and of two sessions are kept apart', () => {
  const { calls } = table(10)
  calls.add('s', 1, 'number', 0)
  calls.add('s', '1', 'string', 0)
  calls.add('t', 1, 'other', 0)
  expect(calls.peek('s', 1)).toBe('number')
  expect(calls.take('s', '1')).toBe('string')
  expect(calls.take('s', '1')).toBeUndefined()
  expect(calls.take('t', 1)).toBe('other')
  expect(calls.size).toBe(1)
})

test('a full table gives up its oldest, and an id used again its former call', () => {
  const { calls, evicted } = table(2)
  calls.add('s', 0, 'a', 0)
  calls.add('s', 1, 'b', 0)
  calls.add('s', 2, 'c', 0)
  calls.add('s', 1, 'd', 0)
  expect(evicted).toEqual(['a', 'b'])
  expect(calls.size).toBe(2)
  expect(calls.take('s', 1)).toBe('d')
})

test('a value leaves by its id only where it is the one that is meant', () => {
  const { calls } = table()
  calls.add('s', 1, 'a', 0)
  expect(calls.take('s', 1, 'b')).toBeUndefined()
  expect(calls.take('s', 1, 'a')).toBe('a')
})

test("a call stays in reach that pushes out its session's last one", () => {
  const { calls } = table(1)
  calls.add('a', 0, 'first', 0)
  calls.take('a', 0)
  calls.add('b', 0, 'second', 0)
  calls.add('b', 1, 'third', 0)
  expect(calls.peek('b', 1)).toBe('third')
  expect(calls.size).toBe(1)
})

test('what is too long to be kept is given back at once', () => {
  const { calls, evicted } = table()
  calls.add('s', 'x'.repeat(5000), 'a', 0)
  calls.add('s'.repeat(5000), 1, 'b', 0)
  expect(evicted).toEqual(['a', 'b'])
  expect(calls.size).toBe(0)
})

test('calls expire in order, and leave with their session', () => {
  const { calls } = table(9)
  calls.add('s', 0, 'a', 0)
  calls.add('t', 0, 'b', 5)
  calls.add('t', 1, 'c', 6)
  expect(calls.expire(9)).toEqual([])
  expect(calls.expire(10)).toEqual(['a'])
  expect(calls.dropSession('t')).toEqual(['b', 'c'])
  expect(calls.dropSession('t')).toEqual([])
  expect(calls.size).toBe(0)
})

test('whatever happens, every value leaves exactly once and the bound holds', () => {
  const session = fc.constantFrom('a', 'b')
  const id = fc.constantFrom<string | number>(0, 1, 2, '0', '1')
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), session, id }),
    fc.record({ do: fc.constant('take' as const), session, id }),
    fc.record({ do: fc.constant('drop' as const), session, id }),
    fc.record({ do: fc.constant('expire' as const), session, id }),
  )
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const { calls, evicted } = table(limit, 5)
      const left: string[] = []
      let added = 0
      for (const [now, { do: act, session: s, id: i }] of steps.entries()) {
        if (act === 'add') calls.add(s, i, String(added++), now)
        if (act === 'take') left.push(...[calls.take(s, i)].filter((v) => v !== undefined))
        if (act === 'drop') left.push(...calls.dropSession(s))
        if (act === 'expire') left.push(...calls.expire(now))
        expect(calls.size).toBeLessThanOrEqual(limit)
        expect(calls.size + left.length + evicted.length).toBe(added)
      }
      left.push(...calls.expire(Infinity), ...evicted)
      expect(new Set(left).size).toBe(added)
      expect(calls.size).toBe(0)
    }),
  )
})
