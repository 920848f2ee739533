import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { FAULTS } from '../../../src/filters/index.ts'
import { idleFaults } from '../../../src/rules/explain/idle-faults.ts'
import { oneFault } from '../../faults/one-fault.ts'
import { accepted } from '../rules-text.ts'

const reasons = (fault: string, keys?: string) =>
  idleFaults({ rules: [oneFault(fault, keys)] }).map(({ reason }) => reason)

const SERVER_NOTE = 'match: { direction: server, method: notifications/message }'
const SERVER_ASKS = 'match: { direction: server, method: elicitation/create }'
const STDIO_HEADERS = 'match: { transport: stdio, headers: { x-team: shop } }'
const ANY_HEADERS = 'match: { transport: [stdio, http+sse], headers: { x-team: shop } }'
const NOTE = 'match: { method: notifications/cancelled }'

it.each([
  ['catalog: { hide: "*" }', 'match: { tool: echo }', 'nothing_to_act_on'],
  ['abort: { toolError: x }', 'match: { method: tasks/get }', 'nothing_to_act_on'],
  ['abort: { toolError: x }', NOTE, 'nothing_to_act_on'],
  ['abort: { toolError: x }', 'match: { http: { path: /mcp } }', 'nothing_to_act_on'],
  ['abort: { rpcError: {} }', NOTE, 'no_response'],
  ['delay: { fixed: 1s }', 'match: { http: { status: 5xx } }', 'already_sent'],
  ['abort: { rpcError: {} }', STDIO_HEADERS, 'no_headers'],
  ['abort: { rpcError: {} }', SERVER_NOTE, 'no_response'],
  ['abort: { status: 503 }', SERVER_ASKS, 'headers_sent'],
  ['stream: { reorder: all }', SERVER_ASKS, 'nothing_to_act_on'],
  ['stream: { reorder: all }', NOTE, 'nothing_to_act_on'],
  ['stream: { wrongId: other }', SERVER_NOTE, 'nothing_to_act_on'],
  ['throttle: {}', SERVER_NOTE, 'nothing_to_act_on'],
  ['hang: { at: headers }', NOTE, 'nothing_to_act_on'],
  ['rewrite: { in: message, set: { /result/x: 1 } }', NOTE, 'nothing_to_act_on'],
  [
    'rewrite: { in: message, set: { /params/x: 1 } }',
    'match: { kind: response, method: ping }',
    'nothing_to_act_on',
  ],
  ['rewrite: { in: inputSchema, remove: /x }', 'match: { tool: echo }', 'nothing_to_act_on'],
  ['poison: {}', 'match: { method: tools/list }', 'nothing_to_act_on'],
  ['inflate: {}', 'match: { method: initialize }', 'nothing_to_act_on'],
  ['truncate: { content: { chars: 3 } }', NOTE, 'nothing_to_act_on'],
  ['rewrite: { in: arguments, remove: /x }', 'match: { method: ping }', 'nothing_to_act_on'],
  ['throttle: { direction: request }', SERVER_NOTE, 'nothing_to_act_on'],
  ['stream: { drop: notifications }', SERVER_ASKS, 'nothing_to_act_on'],
  ['catalog: { notify: suppress }', SERVER_NOTE, 'nothing_to_act_on'],
])('%s is idle for %s', (fault, keys, reason) => {
  expect(reasons(fault, keys)).toEqual([reason])
})

it.each([
  ['abort: { toolError: x }', 'match: { method: tasks/result }'],
  ['abort: { toolError: x }', 'match: { method: "*" }'],
  ['abort: { rpcError: {} }', ANY_HEADERS],
  ['delay: { fixed: 1s, at: response }', 'match: { http: { status: 5xx } }'],
  ['throttle: {}', 'match: { http: { status: 5xx } }'],
  ['abort: { rpcError: {} }', 'match: { transport: stdio, tool: echo }'],
  ['abort: { rpcError: {} }', 'match: { method: custom/method }'],
  ['abort: { rpcError: {} }', 'match: { direction: server, method: "*" }'],
  ['stream: { reorder: all }', SERVER_NOTE],
  ['rewrite: { in: message, set: { /result/x: 1 } }', SERVER_ASKS],
  ['catalog: { hide: "*" }', 'match: { method: tools/list }'],
  ['catalog: { hide: "*" }', 'match: { method: { regex: list } }'],
])('%s may act for %s', (fault, keys) => {
  expect(reasons(fault, keys)).toEqual([])
})

it('leaves a rule alone that matches no known method', () => {
  expect(reasons('catalog: { hide: "*" }', 'match: { method: "vendor/*" }')).toEqual([])
})

it('no example is idle', async () => {
  const dir = new URL('../../../examples/', import.meta.url)
  const names = (await readdir(dir)).filter(
    (name) => name.endsWith('.yaml') && name !== 'compose.yaml',
  )
  expect(names.length).toBeGreaterThan(5)
  for (const name of names) {
    expect(idleFaults(accepted(await readFile(new URL(name, dir), 'utf8'))), name).toEqual([])
  }
  for (const { example } of FAULTS) {
    const text = `rules:\n${example.replaceAll(/^/gm, '  ')}\n`
    expect(idleFaults(accepted(text)), example).toEqual([])
  }
})
