import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { followMessage } from '../../src/mcp/argument-headers.ts'
import { encodeHeaderValue } from '../../src/mcp/name-header.ts'
import { faultText, rejected } from '../rules/rules-text.ts'
import { closers } from '../support/closers.ts'
import { startSidecar } from '../support/wire.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()

const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'query', arguments: { region: 'eu', limit: 5, on: true, note: 'eu' } },
}
const HEADERS = {
  'mcp-name': 'query',
  'Mcp-Param-Region': 'eu',
  'Mcp-Param-Most': '5',
  'Mcp-Param-Else': 'kept',
}

/** Sends a call through a rule; returns the headers that the upstream gets. */
async function sent(
  fault: string,
  engine: 'fast' | 'standard',
  match = 'match: { tool: query }',
): Promise<Record<string, unknown>> {
  let got: IncomingHttpHeaders = {}
  const squall = opened(
    await startSidecar({
      engine,
      rules: [oneFault(fault, match)],
      upstream: (req, res) => {
        got = req.headers
        req.resume().on('end', () => res.end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'))
      },
    }),
  )
  const headers = { 'content-type': 'application/json', ...HEADERS }
  await fetch(`${squall.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(CALL) })
  const names = ['mcp-name', 'mcp-param-region', 'mcp-param-most', 'mcp-param-else']
  return Object.fromEntries(names.map((name) => [name, got[name]]))
}

const SAME = {
  'mcp-name': 'query',
  'mcp-param-region': 'eu',
  'mcp-param-most': '5',
  'mcp-param-else': 'kept',
}
const LYON = encodeHeaderValue('Lyón')

describe.each(['fast', 'standard'] as const)('headers that repeat arguments (%s)', (engine) => {
  it.each([
    ['in: arguments, set: { /region: Lyón }', { ...SAME, 'mcp-param-region': LYON }],
    ['in: arguments, set: { /limit: 7 }', { ...SAME, 'mcp-param-most': '7' }],
    ['in: arguments, remove: /region', { ...SAME, 'mcp-param-region': undefined }],
    ['in: arguments, nullify: /limit', { ...SAME, 'mcp-param-most': undefined }],
    ['in: arguments, set: { /note: us }', SAME],
    ['in: message, set: { /params/name: other }', { ...SAME, 'mcp-name': 'other' }],
    ['in: arguments, headers: keep, set: { /region: us }', SAME],
  ])('follow { %s }', async (rewrite, headers) => {
    expect(await sent(`rewrite: { ${rewrite} }`, engine)).toEqual(headers)
  })
})

it('a rule matches the decoded value of a header', async () => {
  const match = 'match: { headers: { Mcp-Param-Region: eu } }'
  const got = await sent('rewrite: { in: arguments, set: { /limit: 9 } }', 'fast', match)
  expect(got['mcp-param-most']).toBe('9')
})

it('an ambiguous value, and one that no argument has, keep their headers', () => {
  const text = (value: string): string =>
    JSON.stringify({ params: { arguments: { a: 'x', b: value } } })
  const lines = ['Mcp-Param-Third', 'x', 'Mcp-Param-Other', 'y']
  expect(followMessage(lines, text('x'), text('z'))).toEqual(lines)
  expect(followMessage(['host', 'a'], 'not read', 'not read')).toEqual(['host', 'a'])
})

it('`headers` is rejected where no request changes', () => {
  const [problem] = rejected(faultText('{ rewrite: { remove: /a, headers: keep } }'))
  expect(problem?.message).toContain('`headers` requires `in: arguments`')
})
