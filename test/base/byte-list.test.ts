import { expect, test } from 'vitest'
import { ByteList } from '../../src/base/byte-list.ts'

const join = (pieces: ByteList): string => Buffer.from(pieces.joined()).toString('latin1')

test('bytes come out as they went in, however they were cut', () => {
  const pieces = new ByteList()
  let all = ''
  for (let n = 0; n < 20_000; n++) {
    const text = String(n % 10).repeat(n % 997 === 0 ? 5000 : n % 4)
    pieces.push(Buffer.from(text))
    all += text
  }
  expect(pieces.size).toBe(all.length)
  expect(join(pieces)).toBe(all)
})

test('a million single bytes are kept in few pieces', () => {
  const pieces = new ByteList()
  for (let n = 0; n < 1_000_000; n++) pieces.push(Buffer.from('x'))
  expect(pieces.list.length).toBeLessThan(400)
  pieces.clear()
  expect(pieces.size).toBe(0)
})
