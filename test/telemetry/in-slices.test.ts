import { describe, expect, it } from 'vitest'
import { inSlices } from '../../src/telemetry/in-slices.ts'

/** Steps each of which takes a millisecond. */
function* slow(count: number, done: number[]): Iterable<void> {
  for (let i = 0; i < count; i++) {
    const until = performance.now() + 1
    while (performance.now() < until);
    done.push(i)
    yield
  }
}

describe('work done in slices', () => {
  it('is all done, in order', async () => {
    const done: number[] = []
    await inSlices(slow(20, done))
    expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i))
    await inSlices([])
  })

  it('lets everything else go on every few milliseconds', async () => {
    let turns = 0
    let over = false
    const count = (): void => {
      turns++
      if (!over) setImmediate(count)
    }
    setImmediate(count)
    await inSlices(slow(40, []))
    over = true
    expect(turns).toBeGreaterThan(10)
  })

  it('fails as it fails itself', async () => {
    function* failing(): Iterable<void> {
      yield
      throw new Error('no more')
    }
    await expect(inSlices(failing())).rejects.toThrow('no more')
  })
})
