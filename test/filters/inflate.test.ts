import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Frame } from '../../src/filters/fault.ts'
import { frameText } from '../../src/filters/lib/json/frame-json.ts'
import { inflate } from '../../src/filters/inflate.ts'
import { Context, frames } from './context.ts'
import { findings, parameters } from './fault-text.ts'
import { resultFrame } from './results.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'
import { rounds } from '../support/rounds.ts'

/** The result of changing the frame that ends a call. */
async function grown(config: Parameters<typeof inflate.create>[0], frame: Frame): Promise<Frame> {
  let last = frame
  const after = inflate.create(config).onResponse!(new Context(), frames(frame))
  for await (const each of after) last = each
  return last
}

/** The last text of a frame's result. */
function lastText(frame: Frame): string {
  const { result } = JSON.parse(frameText(frame)!) as { result: { content: { text: string }[] } }
  return result.content.at(-1)!.text
}

describe('inflate', () => {
  it('reaches the size with any text and any filler, in one body and in an event', async () => {
    const text = fc.string({ unit: ANY_CHARACTER })
    const filler = fc.string({ unit: ANY_CHARACTER, minLength: 1 })
    await fc.assert(
      fc.asyncProperty(
        text,
        filler,
        fc.integer({ min: 1, max: 300_000 }),
        async (own, unit, to) => {
          const content = `{"content":[{"text":""},{"text":${JSON.stringify(own)}}]}`
          for (const kind of ['body', 'event'] as const) {
            const frame = resultFrame(content, kind)
            const after = lastText(await grown({ to, with: unit }, frame))
            expect(Buffer.byteLength(after)).toBe(Math.max(to, Buffer.byteLength(own)))
            const all = Buffer.from(unit.repeat(Math.ceil((to + 4) / Buffer.byteLength(unit))))
            const added = Buffer.from(after).subarray(Buffer.byteLength(own))
            const kept = added.toString().trimEnd().length
            expect(added.toString().slice(0, kept)).toBe(all.toString().slice(0, kept))
          }
        },
      ),
      { numRuns: rounds(15, 50) },
    )
  })

  it('finds the text behind a byte order mark', async () => {
    const { raw, ...rest } = resultFrame('{"content":[{"text":"ü"}]}')
    const frame = { ...rest, raw: Buffer.concat([Buffer.from('\uFEFF'), raw]) }
    expect(lastText(await grown({ to: 4, with: 'x' }, frame))).toBe('üxx')
  })
})

describe('inflate in a file', () => {
  it.each([
    ['{}', { to: 524_288 }],
    ['{ to: 16MiB, with: a }', { to: 16_777_216, with: 'a' }],
  ])('%s is read', (text, config) => {
    expect(parameters('inflate', text)).toEqual(config)
  })

  it.each([
    ['{ to: 0B }', '3:29 conflict .to'],
    ['{ to: 17MiB }', '3:29 conflict .to'],
    ['{ to: 2mb }', '3:33 invalid_value .to'],
    ['{ with: "" }', '3:35 invalid_value .with'],
    ['{ by: 2MiB }', '3:29 unknown_key .by'],
  ])('%s is refused', (text, place) => {
    expect(findings('inflate', text)).toEqual([place])
  })
})
