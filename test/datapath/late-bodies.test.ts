import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { RawClient, response, startSidecar } from '../support/wire.ts'

const opened = closers()
const ENGINES = ['fast', 'standard'] as const
const HEAD = 'POST /upload HTTP/1.1\r\nHost: pod\r\nContent-Type: text/plain\r\n'
const FRAMINGS = [
  ['with a length', 'Content-Length: 10\r\n', '0123456789'],
  ['in chunks', 'Transfer-Encoding: chunked\r\n', 'a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n'],
] as const

const cases = ENGINES.flatMap((engine) => FRAMINGS.map((framing) => [engine, ...framing] as const))

test.each(cases)(
  'the upstream gets a head before its body: %s, %s',
  async (engine, _what, framing, body) => {
    const heads: string[] = []
    const squall = opened(
      await startSidecar({
        engine,
        upstream: {
          onHead: async (each) => {
            heads.push(each.request.target)
            await each.write(response('200 OK', [], 'early'))
          },
        },
      }),
    )
    const client = opened(await RawClient.connect(squall.port))
    // The client sends its body when it sees the response.
    await client.send(`${HEAD}${framing}\r\n`, 'POST')
    expect((await client.response())?.body.toString()).toBe('early')
    await client.send(body)
    expect(heads).toEqual(['/upload'])
    expect(squall.app.violations()).toEqual([])
  },
)

test.each(cases)(
  'a body behind its head arrives whole: %s, %s',
  async (engine, _what, framing, body) => {
    let seen = (): void => undefined
    const head = new Promise<void>((resolve) => (seen = resolve))
    const squall = opened(await startSidecar({ engine, upstream: { onHead: () => seen() } }))
    const client = opened(await RawClient.connect(squall.port))
    await client.send(`${HEAD}${framing}\r\n`, 'POST')
    await head
    await client.send(body)
    const request = await squall.app.received(1)
    expect(request.body.toString()).toBe('0123456789')
    expect(request.trailers).toEqual(framing.startsWith('T') ? ['X-Sum', '1'] : [])
    request.connection.socket.write(response('200 OK', [], 'late'))
    expect((await client.response())?.body.toString()).toBe('late')
    expect(squall.app.violations()).toEqual([])
  },
)
