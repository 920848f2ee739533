import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RequestHeadWriter, RequestHeadError } from '../../src/upstream/request-head-writer.ts'
import { startUpstream } from '../support/wire.ts'

let near: Socket
let far: Socket
let writer: RequestHeadWriter

beforeEach(async () => {
  const { server, port } = await startUpstream(createServer())
  near = connect(port, '127.0.0.1')
  ;[far] = (await once(server, 'connection')) as [Socket]
  server.close()
  writer = new RequestHeadWriter()
  writer.attach(near)
})

afterEach(() => {
  near.destroy()
  far.destroy()
})

/** Everything that went over the wire. */
async function received(): Promise<string> {
  near.end()
  const chunks: Buffer[] = []
  for await (const bytes of far) chunks.push(bytes as Buffer)
  return Buffer.concat(chunks).toString('latin1')
}

const OWN = 'POST / HTTP/1.1\r\nhost: squall.invalid\r\n'

test('the announced header block is sent instead of the written one', async () => {
  writer.announce('POST /x HTTP/1.1\r\nhOST: pod\r\n', undefined)
  near.write(`${OWN}content-length: 2\r\n\r\n`, 'latin1')
  near.write(Buffer.from([0xff, 0x00]))
  writer.announce('GET /y HTTP/1.1\r\n', undefined)
  near.write(`${OWN}\r\n`)
  expect(await received()).toBe(
    'POST /x HTTP/1.1\r\nhOST: pod\r\n\r\n\xff\0GET /y HTTP/1.1\r\n\r\n',
  )
})

test('a whole body leaves with its head, byte by byte as it came', async () => {
  writer.announceWhole('POST /x HTTP/1.1\r\n', '\x00\xe9\xff')
  near.write(`${OWN}\r\n`)
  expect(await received()).toBe('POST /x HTTP/1.1\r\n\r\n\x00\xe9\xff')
})

test('chunks pass, and trailers follow the last one', async () => {
  writer.announce('POST /x HTTP/1.1\r\n', () => ['X-Sum', '1', 'X-Sum', '2'])
  near.write(`${OWN}transfer-encoding: chunked\r\n`)
  near.write('\r\n2\r\n')
  near.write(Buffer.from('hi'))
  near.write('\r\n0\r\n\r\n')
  expect(await received()).toBe(
    'POST /x HTTP/1.1\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n',
  )
})

test('a chunked body that turns out empty is still chunked', async () => {
  writer.announce('POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n', () => [])
  near.write(`${OWN}content-length: 0\r\n\r\n`)
  expect(await received()).toBe('POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
})

test('text that nobody announced does not leave', async () => {
  expect(() => near.write('GET / HTTP/1.1\r\n\r\n')).toThrow(RequestHeadError)
  writer.announce('GET /x HTTP/1.1\r\n', undefined)
  near.write(`${OWN}\r\n`)
  expect(() => near.write('GET /twice HTTP/1.1\r\n\r\n')).toThrow(RequestHeadError)
  expect(await received()).toBe('GET /x HTTP/1.1\r\n\r\n')
})
