import { connect } from 'node:net'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Api, type LogLine, TOKEN } from './api-setup.ts'
import { rounds } from '../support/rounds.ts'
import { startSquall } from '../support/commands.ts'

let api: Api
let locked: Api

beforeAll(async () => {
  api = await startSquall({ admin: { bodyTimeoutMs: 20 } })
  locked = await startSquall({ admin: { bodyTimeoutMs: 20, token: undefined } })
})

afterAll(async () => {
  await Promise.all([api.close(), locked.close()])
})

/** Sends bytes as they stand; gives what comes back until the connection ends. */
function send(port: number, bytes: Buffer, end: boolean): Promise<string> {
  return new Promise((resolve) => {
    let response = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes)
      if (end) socket.end()
    })
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (response += chunk))
    socket.on('close', () => resolve(response))
    socket.on('error', () => undefined)
  })
}

async function isAlive({ url }: Api): Promise<boolean> {
  return (await fetch(`${url}/livez`)).status === 200
}

const RIGHT = `Bearer ${TOKEN}`
const text = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
  maxLength: 40,
})
const authorization = fc.oneof(
  fc.constantFrom(
    RIGHT,
    `${RIGHT}x`,
    RIGHT.slice(0, -1),
    RIGHT.toUpperCase(),
    TOKEN,
    `Bearer ${TOKEN.slice(1)}`,
    `Bearer, ${TOKEN}`,
    `Bearer\t${TOKEN}`,
    'Bearer',
    '',
  ),
  text,
)
const method = fc.constantFrom('POST', 'POST', 'POST', 'GET', 'HEAD', 'PUT', 'OPTIONS', 'DELETE')
const path = fc.oneof(
  fc.constantFrom(
    '/api/disarm',
    '/api/disarm?x=1',
    '/api/arm',
    '/api/disarm/',
    '//api/disarm',
    '/API/disarm',
    '/api/../api/disarm',
    '/api/%64isarm',
    'http://a/api/disarm',
    '/api/state',
    '*',
  ),
  text.map((each) => `/${each.replaceAll(' ', '')}`),
)
const header = fc.oneof(
  fc.tuple(fc.constant('origin'), fc.constantFrom('http://a', 'http://evil', 'null', '')),
  fc.tuple(fc.constant('content-type'), fc.constantFrom('application/json', 'text/plain', '')),
  fc.tuple(fc.constant('content-encoding'), fc.constantFrom('gzip', 'identity')),
  fc.tuple(fc.constant('expect'), fc.constantFrom('100-continue', 'the best')),
  fc.tuple(fc.constant('x-http-method-override'), fc.constant('POST')),
  fc.tuple(fc.constant('cookie'), fc.constant(`token=${TOKEN}`)),
  fc.tuple(fc.constant('authorization'), authorization),
  fc.tuple(fc.constantFrom('x-a', 'x-b'), text),
)
const body = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom('{}', '{"reason":"x"}', '{"reason":1}', '[', 'x'.repeat(5000), ''),
  fc.json(),
)
const framing = fc.constantFrom('length', 'chunked', 'short', 'both')

function request(parts: {
  readonly line: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
  readonly framing: string
}): Buffer {
  const bytes = Buffer.from(parts.body ?? '')
  const lines = [`${parts.line} HTTP/1.1`, 'host: a', 'connection: close']
  for (const [name, value] of parts.headers) lines.push(`${name}: ${value}`)
  if (parts.body === undefined) return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  const chunked = parts.framing === 'chunked' || parts.framing === 'both'
  if (parts.framing !== 'chunked') {
    lines.push(`content-length: ${bytes.length + (parts.framing === 'short' ? 5 : 0)}`)
  }
  if (chunked) lines.push('transfer-encoding: chunked')
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  if (!chunked) return Buffer.concat([head, bytes])
  const size = Buffer.from(`${bytes.length.toString(16)}\r\n`)
  const last = Buffer.from(bytes.length === 0 ? '\r\n' : '\r\n0\r\n\r\n')
  return Buffer.concat([head, size, bytes, last])
}

const anything = fc.record({
  line: fc.tuple(method, path).map((both) => both.join(' ')),
  headers: fc.array(header, { maxLength: 5 }),
  body,
  framing,
})
const isRefusal = ({ level, message }: LogLine): boolean =>
  level === 'warn' && message === 'rejected a change on the admin port'
const mostlyRight = fc.oneof({ weight: 2, arbitrary: fc.constant(RIGHT) }, authorization)
const nearlyRight = fc.record({
  line: fc.constantFrom('POST /api/disarm', 'POST /api/arm'),
  headers: fc
    .tuple(
      mostlyRight,
      fc.constantFrom('http://a', 'http://evil'),
      fc.array(header, { maxLength: 1 }),
    )
    .map(
      ([token, origin, more]) => [...more, ['authorization', token], ['origin', origin]] as const,
    ),
  body: fc.constantFrom(undefined, undefined, '{}', '['),
  framing: fc.constant('length'),
})
const requests = fc.oneof(anything, nearlyRight)

describe('requests of all kinds', () => {
  it('change nothing without the right token, and never end the server', async () => {
    let changes = 0
    await fc.assert(
      fc.asyncProperty(requests, fc.boolean(), async (parts, armed) => {
        api.arming.lift('operator')
        if (!armed) api.arming.disarm('operator', 'before')
        const response = await send(api.port, request(parts), false)
        const isArmed = api.arming.reasons.length === 0
        if (isArmed !== armed) {
          changes++
          expect(parts.line).toMatch(/^POST \/api\/(?:dis)?arm(?:\?|$)/)
          const given = parts.headers.find(([name]) => name === 'authorization')
          expect(given?.[1]).toBe(RIGHT)
          expect(parts.headers.every(([name, of]) => name !== 'origin' || of === 'http://a')).toBe(
            true,
          )
          expect(response).toMatch(/HTTP\/1\.1 200 /)
        }
        expect(response).toMatch(/^$|^HTTP\/1\.1 [1-4]\d\d /)
        expect(await isAlive(api)).toBe(true)
      }),
      { numRuns: rounds(125, 500) },
    )
    expect(changes).toBeGreaterThan(0)
    expect(JSON.stringify(api.log)).not.toContain(TOKEN)
    expect(api.log.every((line) => line.level === 'info' || isRefusal(line))).toBe(true)
  })

  it('change nothing at all where no token is set', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (parts) => {
        await send(locked.port, request(parts), false)
        expect(locked.arming.reasons).toEqual([])
      }),
      { numRuns: rounds(40, 150) },
    )
    expect(locked.log.every(isRefusal)).toBe(true)
    expect(await isAlive(locked)).toBe(true)
  })

  it('change nothing when their bytes are damaged anywhere about the token', async () => {
    const good = request({
      line: 'POST /api/disarm',
      headers: [['authorization', RIGHT]],
      body: undefined,
      framing: 'length',
    })
    const at = good.indexOf(TOKEN)
    const damage = fc.record({
      offset: fc.integer({ min: at, max: at + TOKEN.length - 1 }),
      byte: fc.integer({ min: 0, max: 255 }),
      cut: fc.nat(3),
    })
    api.arming.lift('operator')
    await fc.assert(
      fc.asyncProperty(damage, async ({ offset, byte, cut }) => {
        if (good[offset] === byte && cut === 0) return
        const bytes = Buffer.concat([
          good.subarray(0, offset),
          cut === 0 ? Buffer.from([byte]) : Buffer.alloc(0),
          good.subarray(offset + Math.max(1, cut)),
        ])
        await send(api.port, bytes, true)
        expect(api.arming.reasons).toEqual([])
      }),
      { numRuns: rounds(50, 200) },
    )
    await send(api.port, good, false)
    expect(api.arming.reasons).toHaveLength(1)
  })
})
