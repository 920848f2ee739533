import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import {
  call,
  callMessage,
  RawClient,
  rpcPost,
  type RuledOptions,
  type RuledSidecar,
  startSidecar,
} from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()

interface Got {
  readonly headers: string[]
  readonly body: string
}

const edit = (change: (text: string) => string | undefined): Fault => ({
  onRequest: (ctx) => {
    ctx.injected()
    return { kind: 'edit', edit: change }
  },
})

const replacing = (from: string, to: string): Fault => edit((text) => text.replace(from, to))

/** A stage whose upstream reports what it got, and responds to all calls with a result. */
async function start(
  faults: readonly Fault[],
  more: Partial<RuledOptions> = {},
): Promise<RuledSidecar & { got: Got[] }> {
  const got: Got[] = []
  const app: RequestListener = (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      got.push({ headers: req.rawHeaders, body: Buffer.concat(parts).toString('latin1') })
      res.setHeader('content-type', 'application/json')
      res.end('{"jsonrpc":"2.0","id":1,"result":{}}')
    })
  }
  const stage = await startSidecar({ rules: [REPLACED], faults, upstream: app, ...more })
  return opened({ ...stage, got })
}

const TEXT =
  '{ "jsonrpc":"2.0","id":1, "method":"tools/call","n":10000000000000000001,"params":{"name":"echo","arguments":{"q":"a"}}}'

it('edits a call, each fault what the one before it made, and corrects the length', async () => {
  const seen: string[] = []
  const stage = await start([
    replacing('"q":"a"', '"q":"\u00e4b"'),
    edit((text) => (seen.push(text), text.replace('\u00e4b', 'abc'))),
  ])
  const got = await call({ ...stage, headers: { 'Mcp-Name': 'echo' } }, TEXT)
  const expected = TEXT.replace('"q":"a"', '"q":"abc"')
  expect(seen).toEqual([TEXT.replace('"q":"a"', '"q":"\u00e4b"')])
  expect(stage.got[0]!.body).toBe(expected)
  const { headers } = stage.got[0]!
  expect(headers[headers.indexOf('content-length') + 1]).toBe(String(expected.length))
  expect(headers).toContain('Mcp-Name')
  expect(got.headers['x-squall-fault']).toBe('r/delay')
  expect(stage.counts().injected).toBe(1)
  expect(stage.injected).toHaveLength(2)
  // The fault, not the server, causes the outcome of a call that the fault changed.
  expect(await stage.origins()).toEqual(['injected'])
})

it('edits one call of a batch and leaves every other byte', async () => {
  const stage = await start([replacing('"q":"a"', '"q":1')])
  const other = JSON.stringify(callMessage(2, 'other'))
  const note = '{"method":"notifications/x", "jsonrpc":"2.0"}'
  const batch = (text: string): string => `\n[ ${other} ,${note},\t${text} ] `
  await call(stage, batch(TEXT))
  expect(stage.got[0]!.body).toBe(batch(TEXT.replace('"q":"a"', '"q":1')))
})

it('edits one call of a batch beside one that is answered', async () => {
  const abort: Fault = {
    onRequest: (ctx) => {
      ctx.injected()
      return ctx.call!.id === 2
        ? { kind: 'respond', reply: { kind: 'toolError', text: 'x' } }
        : { kind: 'edit', edit: (text) => text.replace('"q":"a"', '"q":1') }
    },
  }
  const stage = await start([abort])
  const got = await call(stage, `[${TEXT},${JSON.stringify(callMessage(2))}]`)
  expect(stage.got[0]!.body).toBe(`[${TEXT.replace('"q":"a"', '"q":1')}]`)
  expect(got.text).toContain('"isError":true')
})

it('decodes what it edits, and sends it plain', async () => {
  const stage = await start([replacing('"q":"a"', '"q":"b"')])
  const bytes = gzipSync(TEXT)
  const client = await RawClient.connect(stage.port)
  const head = `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nDigest: x\r\nContent-Length: ${bytes.length}\r\n\r\n`
  await client.send(Buffer.concat([Buffer.from(head), bytes]), 'POST')
  await client.response()
  expect(stage.got[0]!.body).toBe(TEXT.replace('"q":"a"', '"q":"b"'))
  const names = stage.got[0]!.headers.filter((_, i) => i % 2 === 0)
  expect(names).toEqual(['Host', 'Content-Type', 'Content-Length'])
  client.close()
})

it.each([true, false])('takes a body that comes in chunks (edited: %j)', async (edited) => {
  const stage = await start([edit((text) => (edited ? text.replace('"a"', '"b"') : undefined))])
  const client = await RawClient.connect(stage.port)
  const head =
    'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
  await client.send([head, chunk(TEXT.slice(0, 20)), chunk(TEXT.slice(20)), '0\r\n\r\n'], 'POST')
  await client.response()
  expect(stage.got[0]!.body).toBe(edited ? TEXT.replace('"a"', '"b"') : TEXT)
  const names = stage.got[0]!.headers.map((each) => each.toLowerCase())
  expect(names.includes('content-length')).toBe(edited)
  expect(names.includes('transfer-encoding')).toBe(!edited)
  client.close()
})

it.each([
  ['finds nothing', () => undefined, 'nothing_to_act_on', 0],
  ['changes nothing', (text: string) => text, 'nothing_to_act_on', 0],
  [
    'throws',
    () => {
      throw new Error('x')
    },
    'failed',
    1,
  ],
  ['makes two values of it', (text: string) => `${text},${text}`, 'failed', 1],
  ['leaves no JSON', (text: string) => text.slice(1), 'failed', 1],
] as const)('sends the call as it came when an edit %s', async (_, change, reason, broken) => {
  const stage = await start([edit(change), replacing('"a"', '"b"')])
  await call(stage, `[${TEXT}]`)
  expect(stage.got[0]!.body).toBe(`[${TEXT.replace('"a"', '"b"')}]`)
  expect(stage.notApplicable).toMatchObject([{ reason }])
  expect(stage.broken).toHaveLength(broken)
  expect(stage.counts()).toMatchObject({ injected: 1, not_applicable: 0 })
})

it('does not match a call whose text is not UTF-8', async () => {
  const stage = await start([replacing('"a"', '"b"')])
  const client = await RawClient.connect(stage.port)
  const text = TEXT.replace('"q":"a"', '"q":"\xff"')
  await client.send(
    rpcPost('@').replace(
      'Content-Length: 1\r\n\r\n@',
      `Content-Length: ${text.length}\r\n\r\n${text}`,
    ),
    'POST',
  )
  await client.response()
  expect(stage.got[0]!.body).toBe(text)
  expect(stage.notApplicable).toEqual([])
  expect(stage.counts()).toMatchObject({ injected: 0, not_applicable: 0 })
  client.close()
})

it('has nothing to change once the upstream has the call', async () => {
  const late: Fault = { beforeResponse: () => ({ kind: 'edit', edit: (text) => `${text} ` }) }
  const stage = await start([late])
  await call(stage, TEXT)
  expect(stage.notApplicable).toMatchObject([{ reason: 'already_sent' }])
})
