import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { Exposition } from '../../src/telemetry/text-format.ts'
import { numberText } from '../../src/telemetry/text-format.ts'
import { ChunkPool, lineStart, TextWriter } from '../../src/telemetry/text-writer.ts'

/** One piece of text, or one line. */
type Part = string | { readonly start: string; readonly value: number; readonly exemplar?: string }

const PART: fc.Arbitrary<Part> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.record(
    {
      start: fc.string({ unit: 'grapheme', maxLength: 200 }),
      value: fc.oneof(fc.nat(), fc.double(), fc.maxSafeInteger()),
      exemplar: fc.string({ maxLength: 100 }),
    },
    { requiredKeys: ['start', 'value'] },
  ),
)

function written(out: TextWriter, parts: readonly Part[]): string {
  for (const part of parts) {
    if (typeof part === 'string') out.text(part)
    else out.line(lineStart(part.start), part.value, { text: part.exemplar ?? '' })
  }
  return Buffer.concat(out.end()).toString()
}

function expected(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part
      return `${part.start}${numberText(part.value)}${part.exemplar ?? ''}\n`
    })
    .join('')
}

/** Metrics with so many series that they fill more than one chunk. */
function filled(): Metrics {
  const metrics = new Metrics({ version: '1' })
  for (let i = 0; i < 1000; i++) {
    const rule = `rule-${i % 100}`
    metrics.injected({
      rule,
      fault: 'delay',
      tool: `tool_${i % 7}`,
      first: true,
      delaySeconds: undefined,
    })
  }
  return metrics
}

function memoryOf({ body }: Exposition): Set<ArrayBufferLike> {
  return new Set(body.map(({ buffer }) => buffer))
}

describe('text written into chunks', () => {
  it('is what strings would have been', () => {
    const chunks = new ChunkPool()
    fc.assert(
      fc.property(fc.array(PART, { maxLength: 50 }), fc.nat({ max: 65_536 }), (some, before) => {
        // The end of a chunk falls anywhere.
        const parts = ['x'.repeat(before), ...some, ...some, ...some]
        const out = new TextWriter(chunks, 'openmetrics')
        expect(written(out, parts)).toBe(expected(parts))
        out.giveBack()
      }),
      { numRuns: 200 },
    )
  })

  it('may be longer than a chunk in one piece', () => {
    const parts = ['a', 'ä'.repeat(100_000), { start: 'b'.repeat(100_000), value: 1 }, 'c']
    expect(written(new TextWriter(new ChunkPool(), 'openmetrics'), parts)).toBe(expected(parts))
  })
})

describe('the memory of a scrape', () => {
  it('is used again when all that asked have done with it', async () => {
    const metrics = filled()
    const [first, second] = await Promise.all([metrics.render(), metrics.render()])
    const memory = memoryOf(first)
    expect(memory.size).toBeGreaterThan(1)
    first.done?.()
    second.done?.()
    const third = await metrics.render()
    expect([...memoryOf(third)].every((buffer) => memory.has(buffer))).toBe(true)
  })

  it('is left alone while one of them has not', async () => {
    const metrics = filled()
    const [first, second] = await Promise.all([metrics.render(), metrics.render()])
    const text = second.text
    first.done?.()
    metrics.injected({
      rule: 'rule-1',
      fault: 'delay',
      tool: 'another',
      first: true,
      delaySeconds: undefined,
    })
    const third = await metrics.render()
    expect(third.text).toContain('another')
    expect([...memoryOf(third)].some((buffer) => memoryOf(second).has(buffer))).toBe(false)
    expect(second.text).toBe(text)
  })
})
