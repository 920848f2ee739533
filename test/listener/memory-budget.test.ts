import { expect, test } from 'vitest'
import { MemoryBudget } from '../../src/listener/memory-budget.ts'

const KIB = 1024

test('what is taken is counted until it is given back', () => {
  const budget = new MemoryBudget(100 * KIB)
  expect(budget.take(90 * KIB)).toBe(true)
  expect(budget.take(20 * KIB)).toBe(false)
  budget.give(90 * KIB)
  expect(budget.held).toBe(0)
  expect(budget.add(200 * KIB)).toBe(false)
  expect(budget.exceeded).toBe(true)
})

test('small messages have a reserve', () => {
  const budget = new MemoryBudget(100 * KIB)
  budget.add(100 * KIB)
  expect(budget.take(20 * KIB)).toBe(false)
  expect(budget.take(16 * KIB)).toBe(true)
  expect(budget.take(16 * KIB)).toBe(false)
})

test('waiting callers are served in order as soon as there is room, or rejected', async () => {
  const budget = new MemoryBudget(100 * KIB)
  budget.add(100 * KIB)
  const told: string[] = []
  const waits = (name: string, bytes: number): Promise<void> =>
    new Promise((resolve) => {
      budget.wait(bytes, (isGranted) => {
        told.push(`${name} ${isGranted}`)
        resolve()
      })
    })
  const all = [waits('never', 200 * KIB), waits('first', 60 * KIB), waits('second', 60 * KIB)]
  budget.give(70 * KIB)
  await Promise.all(all)
  expect(told).toEqual(['never false', 'first true', 'second false'])
  expect(budget.held).toBe(90 * KIB)
})

test('the clients that have not read for longest are disconnected, and no more than necessary', () => {
  const budget = new MemoryBudget(256 * KIB)
  const disconnected: number[] = []
  for (const stalledAt of [0, 1, 2, 90_000]) {
    const exchange = {
      stalledAt,
      disconnect: () => {
        disconnected.push(stalledAt)
        budget.stalled.remove(exchange)
      },
    }
    budget.stalled.add(exchange)
  }
  budget.stalled.relieve(500)
  expect(disconnected).toEqual([])
  budget.stalled.relieve(90_001)
  expect(disconnected).toEqual([0, 1])
})

test('what is kept for later goes first, and all of it', () => {
  const budget = new MemoryBudget(100 * KIB)
  const gone: string[] = []
  const kept = { evict: () => gone.push('a') }
  expect(budget.cacheBudget.keep(kept, 60 * KIB)).toBe(true)
  expect(budget.cacheBudget.keep(kept, 60 * KIB)).toBe(false)
  budget.cacheBudget.release(kept, 20 * KIB)
  expect(budget.cacheBudget.bytes).toBe(40 * KIB)
  expect(budget.take(60 * KIB)).toBe(true)
  expect(gone).toEqual([])
  expect(budget.take(30 * KIB)).toBe(true)
  expect(gone).toEqual(['a'])
  expect(budget.cacheBudget.bytes).toBe(0)
  expect(budget.pressure.kept_dropped).toBe(1)
})
