import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  drained,
  OPEN_STREAM,
  type RawApp,
  type RawAppOptions,
  RawClient,
  response,
  type ScriptedSidecar,
  type StartOptions,
  startSidecar,
  STREAM_HEAD,
  toolCall,
  valueOf,
} from '../support/wire.ts'

const MIB = 1024 * 1024

let app: RawApp
let squall: ScriptedSidecar

async function start(options: RawAppOptions, overrides: Partial<StartOptions> = {}): Promise<void> {
  squall = await startSidecar({ ...overrides, upstream: options })
  app = squall.app
}

afterEach(() => squall.close())

test.each([
  ['pushed stream', OPEN_STREAM],
  ['answer to a call', toolCall(1)],
])('the head of a %s arrives before the first byte of its body', async (_name, request) => {
  await start({ script: (e) => void e.write(STREAM_HEAD) })
  const client = await RawClient.connect(squall.port)
  await client.send(request, 'POST')
  const head = await client.head()
  expect(head?.status).toBe(200)
  expect(valueOf(head!.headers, 'content-type')).toBe('text/event-stream')
  expect(head!.bodyBytes).toBe(0)
  client.close()
})

test('each chunk of a stream is passed on at once, as one chunk, without a change', async () => {
  const pieces = [
    ': keepalive\n\n',
    'id: 7\nretry: 1500\ndata: \n\n',
    'event: message\r\ndata: {"a":1}\r\n\r\n',
    'data: one\rdata: two\r\r',
    'data: half an event',
    ', and the rest\n\n',
    '\uFEFFdata: \u65e5\u672c\n\n',
    'no colon\n:\n\n\n',
  ].map((text) => Buffer.from(text))
  // One character cut in two.
  pieces.push(Buffer.from([0xe6, 0x97]), Buffer.from([0xa5, 0x0a, 0x0a]), Buffer.from([0xff, 0x00]))
  await start({ script: (e) => void e.write(STREAM_HEAD) })
  const client = await RawClient.connect(squall.port)
  await client.send(OPEN_STREAM)
  const head = await client.head()
  const { socket } = app.connections[0]!
  let sent = 0
  for (const piece of pieces) {
    socket.write(chunk(piece))
    sent += piece.length
    // The next piece is written only when this one has arrived whole.
    while (head!.bodyBytes < sent && client.closeState === undefined)
      await client.sawBytes(client.received + 1)
  }
  socket.write('0\r\n\r\n')
  const given = await client.response()
  expect(given!.body).toEqual(Buffer.concat(pieces))
  expect(given!.chunks).toEqual(pieces.map((piece) => piece.length))
  client.close()
})

test('several chunks that arrive together stay several', async () => {
  await start({
    script: (e) => void e.write(`${STREAM_HEAD}3\r\nabc\r\n1\r\nd\r\n5\r\nefghi\r\n0\r\n\r\n`),
  })
  const client = await RawClient.connect(squall.port)
  await client.send(OPEN_STREAM)
  expect((await client.response())!.chunks).toEqual([3, 1, 5])
  client.close()
})

test(
  'a client that does not read stops the upstream from writing, and memory stays flat',
  { timeout: 60_000 },
  async () => {
    const total = 96 * MIB
    const block = chunk(Buffer.alloc(64 * 1024, 'x'))
    let written = 0
    let stalls = 0
    await start({
      keepBytes: false,
      script: async (e) => {
        await e.write(STREAM_HEAD)
        for (let left = total; left > 0 && !e.socket.destroyed; left -= 64 * 1024) {
          const free = e.socket.write(block)
          written += 64 * 1024
          if (!free) {
            stalls++
            await drained(e.socket)
          }
        }
        await e.write('0\r\n\r\n')
      },
    })
    const client = await RawClient.connect(squall.port, { keepBody: false, keepBytes: false })
    await client.send(OPEN_STREAM)
    await client.head()
    client.socket.pause()
    // Nobody reads: what is written settles at what the buffers on the way hold.
    for (let before = -1; before < written;) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    expect(stalls).toBeGreaterThan(0)
    expect(written).toBeLessThan(40 * MIB)
    const flat = process.memoryUsage().rss
    let most = flat
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss)
    }, 20)
    client.socket.resume()
    const given = await client.response()
    clearInterval(watch)
    expect(given!.bodyBytes).toBe(total)
    // Client, server and Squall share this process, and collect what was sent late on a busy machine.
    expect(most - flat).toBeLessThan(0.7 * total)
    client.close()
  },
)

test(
  'an upload that the upstream does not read stops the client from writing',
  { timeout: 60_000 },
  async () => {
    const size = 48 * MIB
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    await start({
      keepBytes: false,
      keepBody: false,
      onHead: (e) => {
        e.socket.pause()
        void opened.then(() => e.socket.resume())
      },
    })
    const client = await RawClient.connect(squall.port)
    await client.send(`PUT /up HTTP/1.1\r\nHost: pod\r\nContent-Length: ${size}\r\n\r\n`, 'PUT')
    let written = 0
    const block = Buffer.alloc(64 * 1024, 'x')
    const upload = (async () => {
      while (written < size) {
        await client.send(block)
        written += block.length
      }
    })()
    for (let before = -1; before < written;) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    expect(written).toBeLessThan(40 * MIB)
    open()
    await upload
    const request = await app.received(1)
    expect(request.bodyBytes).toBe(size)
    client.close()
  },
)

test('a chunked JSON upload beyond the bound of what is read streams through whole', async () => {
  await start({ keepBytes: false })
  const body = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","pad":"${'y'.repeat(6 * MIB)}"}`,
  )
  const pieces = Array.from({ length: 97 }, (_, i) =>
    body.subarray(i * 65_536, (i + 1) * 65_536),
  ).filter((part) => part.length > 0)
  const client = await RawClient.connect(squall.port)
  await client.send(
    'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    'POST',
  )
  await client.send([...pieces.map((part) => chunk(part)), '0\r\nX-Sum: 1\r\n\r\n'])
  expect((await client.response())?.status).toBe(200)
  expect(app.requests[0]!.body.equals(body)).toBe(true)
  expect(app.requests[0]!.framing).toBe('chunked')
  expect(app.requests[0]!.trailers).toEqual(['X-Sum', '1'])
  client.close()
})

test('a large response of a declared length arrives whole', async () => {
  // No two pieces are alike, so that a lost or a repeated one is seen.
  const body = Buffer.alloc(4 * MIB)
  for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at)
  await start({ script: (e) => void e.write(response('200 OK', [], body)) })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  expect((await client.response())!.body.equals(body)).toBe(true)
  client.close()
})

test('the response to an upload can begin, and be refused, before the upload ends', async () => {
  await start({
    onHead: (e) => void e.write(response('413 Too Much', ['Connection', 'close'], 'no')),
  })
  const client = await RawClient.connect(squall.port)
  await client.send(`PUT /up HTTP/1.1\r\nHost: pod\r\nContent-Length: 1000\r\n\r\npart`, 'PUT')
  expect((await client.response())?.status).toBe(413)
  client.close()
})

test.each([
  ['one header without end', 'X-A: ', 'a'.repeat(1000)],
  ['headers without end', '', 'X-A: b\r\n'.repeat(100)],
])('a head of %s is refused with 431', async (_name, lead, more) => {
  await start({})
  const client = await RawClient.connect(squall.port)
  await client.send(`GET / HTTP/1.1\r\nHost: pod\r\n${lead}`)
  for (
    let sent = 0;
    sent < MIB && client.closeState === undefined && client.responses.length === 0;
    sent += more.length
  ) {
    await client.send(['', more])
  }
  await client.gone
  expect(client.text === '' || client.responses[0]?.status === 431).toBe(true)
  expect(app.requests).toEqual([])
})

test('a target without end is refused', async () => {
  await start({})
  const client = await RawClient.connect(squall.port)
  await client.send(`GET /${'a'.repeat(200_000)} HTTP/1.1\r\nHost: pod\r\n\r\n`, 'GET')
  await client.gone
  expect(app.requests).toEqual([])
})
