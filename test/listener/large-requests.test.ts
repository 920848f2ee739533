import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf } from '../../src/agents/action.ts'
import type { RequestCall } from '../../src/mcp/call.ts'
import { classifyBody } from '../../src/mcp/classify.ts'
import { paramsWeight } from '../../src/mcp/deferred-arguments.ts'
import { call } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const RULES = `rules:
  - name: deep
    match: { tool: write, args: { /path/1: /tmp } }
    faults: [abort: { status: 503 }]
  - name: any
    match: { tool: '*' }
    faults: [abort: { status: 504 }]
`
const NO_FACTS = {
  session: undefined,
  protocolVersion: undefined,
  mcpMethod: undefined,
  mcpName: undefined,
}

let ruled: RuledSquall
beforeAll(async () => {
  ruled = await startSquall({ rules: RULES, upstream: (_, res) => res.end('untouched') })
})
afterAll(() => ruled.close())

/** Writes a call with arguments of more than 16 KiB. */
function large(args: string, text = 'x'.repeat(20_000)): string {
  const params = `{"name":"write","arguments":{"text":"${text}",${args}}}`
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
}

test.each([
  ['match', '"path":["a","/tmp"]', 503],
  ['match where keys are escaped', '"\\u0070ath":["a","/tmp"]', 503],
  ['do not match', '"path":["/tmp"]', 504],
  ['have a key twice', '"path":["a","/tmp"],"path":1', 200],
  ['have an escaped key twice', '"path":["a","/tmp"],"p\\u0061th":1', 200],
  ['have a key twice far inside', '"path":["a","/tmp"],"rows":[{"a":{"b":1,"c":2,"b":3}}]', 200],
])('a large call whose arguments %s', async (_, args, status) => {
  const place = { port: ruled.squall.port, path: '/mcp' }
  expect((await call(place, large(args))).status).toBe(status)
})

function read(body: string): RequestCall {
  const result = classifyBody(NO_FACTS, Buffer.from(body), 'streamable-http')
  if (result.kind !== 'messages') throw new Error(result.reason)
  return result.calls[0]!
}

test('large arguments are equal where their bytes are', () => {
  const [one, other] = ['"a":1,"b":2', '"b":2,"a":1']
  const hash = (args: string): number => hashOf(read(large(args)))
  expect(hash(one)).toBe(hash(one))
  expect(new Set([hash(one), hash(other), hash('"a":1,"b":3')]).size).toBe(3)
  const parsed = read(large(one))
  expect(parsed.params).toMatchObject({ arguments: { a: 1, b: 2 } })
  expect(hashOf(parsed)).toBe(hash(one))
  const small = (args: string): number => hashOf(read(large(args, 'x'.repeat(3_000))))
  expect(small(one)).toBe(small(other))
})

test('large arguments count with the memory that they may take', () => {
  const rows = JSON.stringify(Array.from({ length: 3_000 }, (_, id) => ({ id, tags: [1, null] })))
  const { params } = read(large(`"rows":${rows}`))
  const before = paramsWeight(params)
  expect(before).toBeGreaterThan(paramsWeight(structuredClone(params)))
  expect(paramsWeight(params)).toBe(before)
})
