import { describe, expect, it } from 'vitest'
import { inSlices } from '../../src/telemetry/in-slices.ts'

/** Pieces each of which takes a millisecond to be made. */
function* slow(count: number): Iterable<string> {
  for (let i = 0; i < count; i++) {
    const until = performance.now() + 1
    while (performance.now() < until);
    yield `${i}\n`
  }
}

describe('a text made in slices', () => {
  it('is all that was given, in order, whatever its size', async () => {
    const pieces = Array.from({ length: 5000 }, (_, i) => `ä${i}`.repeat(10))
    const slices = await inSlices(pieces)
    expect(slices.length).toBeGreaterThan(3)
    expect(Buffer.concat(slices).toString()).toBe(pieces.join(''))
    expect(Buffer.concat(await inSlices([])).length).toBe(0)
  })

  it('lets everything else go on every few milliseconds', async () => {
    let turns = 0
    let over = false
    const count = (): void => {
      turns++
      if (!over) setImmediate(count)
    }
    setImmediate(count)
    const slices = await inSlices(slow(40))
    over = true
    expect(Buffer.concat(slices).toString().split('\n')).toHaveLength(41)
    expect(turns).toBeGreaterThan(10)
  })

  it('fails as what makes it fails', async () => {
    function* failing(): Iterable<string> {
      yield 'a'
      throw new Error('no more')
    }
    await expect(inSlices(failing())).rejects.toThrow('no more')
  })
})
