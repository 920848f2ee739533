import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Api, type ApiSetup, TOKEN } from './api-setup.ts'
import { startSquall } from '../support/commands.ts'

const open: Api[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.close()))
})

async function start(setup: ApiSetup = {}): Promise<Api> {
  const api = await startSquall({ admin: setup })
  open.push(api)
  return api
}

/** Sends the text as it stands and gives everything that comes back until the end. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let response = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (response += chunk))
    socket.on('close', () => resolve(response))
    socket.on('error', () => undefined)
  })
}

function post(path: string, ...lines: readonly string[]): string {
  return [`POST ${path} HTTP/1.1`, 'host: a', `authorization: Bearer ${TOKEN}`, ...lines].join(
    '\r\n',
  )
}

describe('the body of a change', () => {
  it.each([
    [415, '{}', { 'content-type': 'text/plain' }],
    [415, '{}', { 'content-type': 'application/x-www-form-urlencoded' }],
    [415, '{}', { 'content-encoding': 'gzip' }],
    [413, JSON.stringify({ reason: 'x'.repeat(5000) }), {}],
    [400, '{', {}],
    [400, '[]', {}],
    [400, 'null', {}],
    [400, '"a"', {}],
    [400, '{"reason":1}', {}],
    [400, '{"reason":" "}', {}],
    [400, JSON.stringify({ reason: 'x'.repeat(201) }), {}],
    [400, '{"reason":"a","by":"guard"}', {}],
    [400, '{"__proto__":{"reason":"a"}}', {}],
    [200, '{}', { 'content-type': 'Application/JSON; charset=utf-8' }],
  ])('gets %i for %j', async (status, body, headers: Record<string, string>) => {
    const { post: send, arming } = await start()
    for (const path of ['/api/disarm', '/api/arm']) {
      const response = await send(path, body, headers)
      expect(response.status).toBe(status)
      if (status === 200) continue
      expect(await response.json()).toEqual({ error: expect.any(String) })
      expect(arming.reasons).toEqual([])
    }
  })

  it('must be UTF-8', async () => {
    const { port } = await start()
    const head = post(
      '/api/disarm',
      'content-type: application/json',
      'content-length: 14',
      'connection: close',
      '\r\n',
    )
    const text = `${head}{"reason":"\xe9"}`
    const response = await new Promise<string>((resolve) => {
      let got = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
      socket.on('data', (chunk) => (got += String(chunk)))
      socket.on('close', () => resolve(got))
    })
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('is not read before it is known who sends it', async () => {
    const { port } = await start()
    const head = 'POST /api/disarm HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n'
    const response = await raw(port, head)
    expect(response).toMatch(/^HTTP\/1\.1 401 /)
    expect(response).toMatch(/connection: close/i)
  })

  it('may come in pieces, after being asked for', async () => {
    const { port, arming } = await start()
    const head = post(
      '/api/disarm',
      'content-type: application/json',
      'transfer-encoding: chunked',
      'expect: 100-continue',
      'connection: close',
      '\r\n',
    )
    const response = await raw(port, `${head}5\r\n{"rea\r\n9\r\nson":"x"}\r\n0\r\n\r\n`)
    expect(response).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
    expect(arming.reasons).toMatchObject([{ reason: 'x' }])
  })

  it('cannot be endless', async () => {
    const { port, arming } = await start()
    const head = post(
      '/api/disarm',
      'content-type: application/json',
      'transfer-encoding: chunked',
      '\r\n',
    )
    expect(await raw(port, `${head}2000\r\n${'a'.repeat(0x2000)}\r\n`)).toMatch(/^HTTP\/1\.1 413 /)
    expect(arming.reasons).toEqual([])
  })

  it('cannot keep a connection for good', async () => {
    const { port, arming } = await start({ bodyTimeoutMs: 30 })
    const head = post(
      '/api/disarm',
      'content-type: application/json',
      'content-length: 50',
      '\r\n{',
    )
    const response = await raw(port, head)
    expect(response).toMatch(/^HTTP\/1\.1 408 /)
    expect(response).toContain('the body did not arrive in time')
    expect(arming.reasons).toEqual([])
  })

  it('leaves the connection to the next request when it was read', async () => {
    const { port } = await start()
    const one = post('/api/disarm', 'content-type: application/json', 'content-length: 2', '\r\n{}')
    const next = 'GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
    const responses = await raw(port, one + next)
    expect(responses.match(/HTTP\/1\.1 200 /g)).toHaveLength(2)
  })
})
