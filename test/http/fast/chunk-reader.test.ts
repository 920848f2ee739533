import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkResponse } from '../../fuzz/targets/responses.ts'
import { readChunks } from '../../fuzz/targets/chunks-reading.ts'
import type { ChunkRun } from '../../../src/http/chunk-run.ts'
import { ChunkReader } from '../../../src/http/fast/chunk-reader.ts'
import { rounds } from '../../support/rounds.ts'

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

/** All texts of some characters, up to a length. */
function allTexts(alphabet: string, length: number): string[] {
  let longest = ['']
  const all = ['']
  for (let i = 0; i < length; i++) {
    longest = longest.flatMap((text) => Array.from(alphabet, (char) => text + char))
    all.push(...longest)
  }
  return all
}

describe('chunks are read', () => {
  test.each([
    ['', '02\r\n;', 3],
    ['1\r\nx', '02\r\n;', 3],
    ['0', '0\r\n;', 4],
  ])('as undici reads them, all short ones behind %j', async (front, alphabet, most) => {
    const states = new Set<string>()
    for (const text of allTexts(alphabet, most)) {
      const { kind } = await checkResponse(Buffer.from(HEAD + front + text))
      states.add(kind.split(' ')[1]!)
    }
    expect(states.size).toBeGreaterThan(1)
  })

  test('as undici reads them, with sizes of any length', async () => {
    for (const size of [
      '7',
      'f',
      'F',
      '1a',
      '0001',
      '000000A',
      '00000001',
      'fffffff',
      '10000000',
    ]) {
      for (const behind of ['', '\r', '\r\n', ';', ' \r\n', '\n', '\r\r', '\r\nabcdefghijklmno']) {
        await checkResponse(Buffer.from(HEAD + size + behind))
      }
    }
    for (let zeros = 1; zeros < 12; zeros++) {
      await checkResponse(Buffer.from(`${HEAD}1\r\na\r\n${'0'.repeat(zeros)}\r\n\r\n`))
    }
  })

  test('the same in whatever pieces they come', () => {
    const sized = fc
      .tuple(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), fc.boolean())
      .map(([data, upper]) => {
        const size = data.length.toString(16)
        return `${upper ? size.toUpperCase() : size}\r\n${data}\r\n`
      })
    const unsupported = fc.constantFrom(
      '0\r\n\r\n',
      '00\r\n\r\n',
      '0\r\nA: b\r\n\r\n',
      '5;a=b\r\n',
      'x',
      '1\r\nxx',
    )
    const body = fc
      .tuple(fc.array(sized), unsupported, fc.string())
      .map((parts) => parts.flat().join(''))
    fc.assert(
      fc.property(body, fc.array(fc.nat(60), { maxLength: 12 }), (text, cuts) => {
        const bytes = Buffer.from(text, 'latin1')
        const pieces: Buffer[] = []
        let at = 0
        for (const cut of cuts) {
          pieces.push(bytes.subarray(at, at + cut))
          at = Math.min(at + cut, bytes.length)
        }
        pieces.push(bytes.subarray(at))
        expect(readChunks(pieces, 0)).toEqual(readChunks([bytes], 0))
      }),
      { numRuns: rounds(100, 300) },
    )
  })

  test.each([
    ['1\r\na\r\nb\r\n0123456789a\r\n', ['a, 0123456789a']],
    ['1\r\na\r\n1\r\nb\r\n0\r\n\r\n', ['a, b']],
    ['1\r\na\r\nB\r\n0123456789a\r\n1\r\nb\r\n1\r\nc\r\n', ['a', '(0123456789a)', 'b, c']],
    ['1\r\na\r\n01\r\nb\r\n', ['a', '(b)']],
    ['1\r\na\r\n2\r\nb', ['a', '(b)']],
    ['1\r\na\r\n2\r\nbc', ['a', '(bc)']],
    ['1\r\na\r\n2\r\nbc\r', ['a', '(bc)']],
    ['1\r\na\r\n2\r', ['a']],
    ['1\r\na\r\n1\r\nbc\r\n', ['a', '(b)']],
  ])('whole ones as one run, where node:http would frame them so: %j', (text, runs) => {
    const seen: string[] = []
    const bytes = Buffer.from(text)
    new ChunkReader().read(bytes, 0, bytes.length, {
      paused: false,
      piece: (of, from, to) => seen.push(`(${of.toString('latin1', from, to)})`),
      run: (run) => {
        const data: string[] = []
        run.each((chunk) => void data.push(chunk.toString()))
        seen.push(data.join(', '))
      },
    })
    expect(seen).toEqual(runs)
  })

  test('no more than one run while no more are wanted', () => {
    const bytes = Buffer.from('1\r\nx\r\n'.repeat(1300) + '0\r\n\r\n')
    const counts: number[] = []
    const chunks = new ChunkReader()
    const taker = {
      paused: true,
      piece: () => expect.unreachable(),
      run: ({ count }: ChunkRun) => void counts.push(count),
    }
    expect(chunks.read(bytes, 0, bytes.length, taker)).toBe('more')
    for (let run = 1; run < 5; run++) {
      expect(chunks.read(bytes, chunks.at, bytes.length, taker)).toBe('more')
    }
    expect(chunks.read(bytes, chunks.at, bytes.length, taker)).toBe('whole')
    expect(counts).toEqual([256, 256, 256, 256, 256, 20])
  })

  test('more than fit a run as several', () => {
    const bytes = Buffer.from('1\r\nx\r\n'.repeat(1300))
    const counts: number[] = []
    const chunks = new ChunkReader()
    chunks.read(bytes, 0, bytes.length, {
      paused: false,
      piece: () => expect.unreachable(),
      run: ({ count, text, from, to }) => {
        counts.push(count)
        expect(text).toBe(bytes.toString('latin1', from, to))
      },
    })
    expect(counts).toEqual([256, 256, 256, 256, 256, 20])
  })
})
