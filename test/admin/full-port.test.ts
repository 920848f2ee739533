// part: slow
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const CONNECTIONS = 330
const open = closers()
const sockets: Socket[] = []

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** Opens connections that send a text, and resolves when each was responded to or sent. */
async function fill(port: number, text: string, isResponded: boolean): Promise<void> {
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      sockets.push(socket)
      const closed = once(socket, 'close')
      await Promise.race([once(socket, 'connect'), closed])
      socket.write(text)
      if (isResponded) await Promise.race([once(socket, 'data'), closed])
    }),
  )
}

/** Sends a probe on a connection of its own, as the kubelet does; returns status and connection. */
function probe(url: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { connection: 'keep-alive' }
    const sent = request(url, { agent: false, headers, timeout: 1_000 }, (response) => {
      response.resume()
      resolve(`${response.statusCode} ${response.headers.connection}`)
    })
    sent.on('timeout', () => sent.destroy(new Error('no response within 1 s')))
    sent.on('error', (error) => resolve(error.message)).end()
  })
}

it.each([
  ['idle connections', '', false],
  ['half-open requests', 'GET /livez HTTP/1.1\r\nho', false],
  ['keep-alive connections', 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\n', true],
  [
    'bodies that do not arrive',
    'POST /api/rules/arm HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n',
    false,
  ],
])('responds to probes beside %s', async (_what, text, isResponded) => {
  const squall = open(await startSquall('--upstream', 'http://127.0.0.1:1'))
  await fill(Number(new URL(squall.admin).port), text, isResponded)
  const statuses: string[] = []
  for (let i = 0; i < 30; i++) {
    statuses.push((await probe(`${squall.admin}/livez`)).replace(/ .*/, ''))
  }
  expect(statuses).toEqual(Array<string>(30).fill('200'))
})

it('keeps connections alive while less than half of the limit is in use', async () => {
  const squall = open(await startSquall('--upstream', 'http://127.0.0.1:1'))
  expect(await probe(`${squall.admin}/livez`)).toBe('200 keep-alive')
  await fill(Number(new URL(squall.admin).port), '', false)
  expect(await probe(`${squall.admin}/livez`)).toBe('200 close')
})

it.each(['livez', 'metrics', 'api/errors'])(
  'responds to a probe between pipelined requests of /%s, which are answered in order',
  async (path) => {
    const squall = open(await startSquall('--upstream', 'http://127.0.0.1:1'))
    const total = 500
    const { host, port } = new URL(squall.admin)
    const socket = connect(Number(port), '127.0.0.1')
    sockets.push(socket)
    let responses = 0
    const begun = once(socket, 'data')
    const all = new Promise<void>((resolve) => {
      let tail = ''
      socket.on('data', (bytes: Buffer) => {
        const parts = (tail + bytes.toString('latin1')).split('HTTP/1.1 200')
        responses += parts.length - 1
        tail = parts.at(-1)!.slice(-11)
        if (responses === total) resolve()
      })
    })
    socket.write(`GET /${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(total))
    await begun
    expect(await probe(`${squall.admin}/livez`)).toMatch('200')
    expect(responses).toBeLessThan(total)
    await all
  },
)
