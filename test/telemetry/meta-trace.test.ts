import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { readTap } from '../admin/event-reader.ts'
import { closers } from '../support/closers.ts'
import { rulesFile, startProgram, startSquall } from '../support/commands.ts'

const opened = closers()
const META = '4bf92f3577b34da6a3ce929d0e0e4736'
const HEADER = '0af7651916cd43dd8448eb211c80319c'
const ofTrace = (id: string): string => `00-${id}-00f067aa0ba902b7-01`

function call(id: number, traceparent: unknown): object {
  const params = { name: 'echo', arguments: { id }, _meta: { traceparent } }
  return { jsonrpc: '2.0', id, method: 'tools/call', params }
}

async function start(rules = 'rules: []') {
  const ruled = opened(await startSquall({ rules }))
  const post = async (body: unknown, header = ofTrace(HEADER)): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${ruled.squall.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        traceparent: header,
      },
      body: JSON.stringify(body),
    })
    return response.text()
  }
  return { admin: ruled.squall.admin, post }
}

it.each([
  ['a valid one wins over the header', ofTrace(META), META],
  ['an invalid one leaves the header', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, HEADER],
  ['a number leaves the header', 7, HEADER],
  ['control characters leave the header', `${ofTrace(META).slice(0, 54)}\n`, HEADER],
  ['a megabyte leaves the header', 'a'.repeat(1 << 20), HEADER],
])('the trace of _meta: %s', async (_, traceparent, expected) => {
  const { admin, post } = await start()
  const tap = opened(await readTap(admin))
  await post(call(1, traceparent))
  expect(await tap.next()).toMatchObject({ trace: expected })
})

it('each call of a batch has its own trace', async () => {
  const { admin, post } = await start()
  const tap = opened(await readTap(admin))
  await post([call(1, ofTrace(META)), call(2, undefined)])
  const traces = [await tap.next(), await tap.next()].map(({ trace }) => trace)
  expect(new Set(traces)).toEqual(new Set([HEADER, META]))
})

it('stickyBy: trace samples all calls with one trace of _meta alike', async () => {
  const rules = `rules:
  - name: half
    match: { tool: echo }
    percent: 50
    stickyBy: trace
    faults: [abort: { rpcError: { code: -32000, message: injected } }]
`
  const { post } = await start(rules)
  const results = new Set<string>()
  for (let trace = 1; trace <= 8; trace++) {
    const id = trace.toString(16).padStart(32, '0')
    const responses = await Promise.all(
      // Another header for each call: the trace of _meta is the one that counts.
      Array.from({ length: 12 }, (_, i) =>
        post(call(i, ofTrace(id)), ofTrace(`${i + 1}`.padStart(32, 'f'))),
      ),
    )
    const injected = responses.filter((text) => text.includes('injected')).length
    expect([0, 12]).toContain(injected)
    results.add(String(injected))
  }
  expect(results.size).toBe(2)
})

it('calls on stdio have the trace of _meta', async () => {
  const log = `${rulesFile('rules: []')}.calls`
  const echo = 'while read -r line; do echo "{}"; done'
  const input = `${JSON.stringify(call(1, ofTrace(META)))}\n`
  const args = ['stdio', '--call-log', log, '--', 'sh', '-c', echo]
  await startProgram(args, {}, { input }).finished()
  const [line = ''] = (await readFile(log, 'utf8')).split('\n')
  expect(JSON.parse(line)).toMatchObject({ tool: 'echo', trace: META })
})
