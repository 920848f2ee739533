import { describe, expect, test } from 'vitest'
import { ResponseReader } from '../../../src/http/fast/response-reader.ts'
import { checkResponse } from '../../fuzz/targets/responses.ts'
import { MAX_HEADER_SIZE } from '../../fuzz/targets/requests.ts'
import { rounds } from '../../support/rounds.ts'
import { singleStrokes } from './strokes.ts'

const COUNTED = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok'
const CHUNKED = 'HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
const CLOSED = 'HTTP/1.1 202 a b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
const BARE = 'HTTP/1.1 304 Not Modified\r\nA: b\r\n\r\n'

const SHARE = rounds(6, 1)

function isPlain(bytes: Buffer | string): boolean {
  const all = Buffer.from(bytes as string, 'latin1')
  return new ResponseReader(MAX_HEADER_SIZE).read(all, 0, all.length)
}

describe('a response is read', () => {
  test.each([COUNTED, CHUNKED, CLOSED, BARE])(
    'as undici reads it, whatever one stroke does to it',
    async (text) => {
      let plain = 0
      for (const bytes of singleStrokes(text, text.indexOf('\r\n\r\n') + 4)) {
        if (!isPlain(bytes)) continue
        plain++
        // Checks only a share of the many values: undici needs a connection for each.
        if (plain % SHARE === 0) await checkResponse(bytes)
      }
      expect(plain).toBeGreaterThan(250)
    },
  )

  test.each([
    ['a timeout of one second', 'timeout=1'],
    ['a timeout that is just too short', 'timeout=2'],
    ['a timeout that is just long enough', 'timeout=3'],
    ['a long timeout', 'timeout=999999999'],
    ['zeros in front of a timeout', 'timeout=00000000005'],
    ['a timeout too long for nine digits', 'timeout=1000000000'],
    ['two timeouts', 'timeout=9, timeout=1'],
    ['another letter case', 'Timeout=1'],
    ['no timeout', 'max=5'],
  ])('as undici reads it, with %s', async (_what, value) => {
    await checkResponse(Buffer.from(COUNTED.replace('timeout=5', value)))
  })

  test('as undici reads it, with whatever comes behind it', async () => {
    for (const behind of ['\r\n', '\n', 'x', COUNTED, '\0']) {
      for (const text of [COUNTED, CHUNKED, CLOSED, BARE]) {
        await checkResponse(Buffer.from(text + behind))
      }
    }
  })

  test('no further than where the bytes end that belong to it', () => {
    const responses = new ResponseReader(MAX_HEADER_SIZE)
    const bytes = Buffer.from(`${COUNTED}${COUNTED}`)
    for (const again of ['fresh', 'remembered']) {
      const head = COUNTED.length - 2
      for (let end = 0; end < head; end++) expect(responses.read(bytes, 0, end), again).toBe(false)
      expect(responses.read(bytes, 0, head)).toBe(true)
    }
  })

  test('up to the bound of a head and no further, however its length grows', () => {
    const head = COUNTED.slice(0, -2)
    const responses = new ResponseReader(head.length + 1)
    const reads = (length: string): boolean => {
      const bytes = Buffer.from(head.replace(': 2', `: ${length}`))
      return responses.read(bytes, 0, bytes.length)
    }
    expect(reads('2')).toBe(true)
    expect(reads('22')).toBe(false)
    expect(reads('3')).toBe(true)
    expect(responses.length).toBe(3)
    expect(responses.bytes.toString()).toBe(head.replace(': 2', ': 3'))
  })
})

test.each([
  ['no length and no chunks', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['a length and chunks', COUNTED.replace('Keep-Alive: timeout=5', 'Transfer-Encoding: chunked')],
  ['two lengths', COUNTED.replace('Keep-Alive: timeout=5', 'content-length: 2')],
  ['a length where no body can be', BARE.replace('A: b', 'Content-Length: 2')],
  ['chunks where no body can be', BARE.replace('A: b', 'Transfer-Encoding: chunked')],
  ['an informational status', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['an offer of another protocol', COUNTED.replace('Keep-Alive: timeout=5', 'Upgrade: h2c')],
  ['an older version', COUNTED.replace('1.1', '1.0')],
  ['no phrase', COUNTED.replace(' OK', ' ')],
  ['a phrase that is not ASCII', COUNTED.replace('OK', '\u00d6K')],
  ['two connection lines', CLOSED.replace('C', 'Connection: close\r\nC')],
  ['another coding', CHUNKED.replace('chunked', 'gzip, chunked')],
  ['a coding in another letter case', CHUNKED.replace('chunked', 'Chunked')],
  ['two keep-alive lines', COUNTED.replace('Keep', 'keep-alive: max=3\r\nKeep')],
  ['a timeout of more than nine digits', COUNTED.replace('=5', '=0000000005')],
])('a response is left to another parser: %s', (_what, text) => {
  expect(isPlain(text)).toBe(false)
})
