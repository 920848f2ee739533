import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { paint } from '../../../src/base/text/terminal-text.ts'

const { FORCE_COLOR } = process.env
beforeAll(() => void delete process.env['FORCE_COLOR'])
afterAll(() => {
  if (FORCE_COLOR !== undefined) process.env['FORCE_COLOR'] = FORCE_COLOR
})

it('colours a text in all styles of its tone', () => {
  expect(paint('bad', 'x', true)).toBe('\u001b[1m\u001b[31mx\u001b[39m\u001b[22m')
  expect(paint('injected', 'x', true)).toBe('\u001b[35mx\u001b[39m')
  expect(paint('plain', 'x', true)).toBe('x')
})

it('leaves a text as it is where the output is no terminal', () => {
  const pipe = new PassThrough() as unknown as NodeJS.WriteStream
  for (const tone of ['bad', 'strong', 'quiet'] as const) expect(paint(tone, 'x', pipe)).toBe('x')
  expect(paint('bad', 'x', false)).toBe('x')
})
