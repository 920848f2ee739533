import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExampleServer } from '../examples/example-server.ts'
import { startUpstream } from '../support/wire.ts'

// k6 itself is not used: the script runs with stand-ins for its modules, against a real MCP server.
const run = promisify(execFile)
const script = fileURLToPath(new URL('../../deploy/examples/k6/load.js', import.meta.url))
const runner = fileURLToPath(new URL('k6/run.mjs', import.meta.url))

interface Message {
  readonly id?: unknown
  readonly result?: object
}

interface Mcp {
  eventsOf(text: string): readonly string[]
  messagesOf(type: string | undefined, body: string | null): readonly Message[]
  answerTo(id: number, messages: readonly Message[]): Message | undefined
  outcomeOf(status: number, answer: object | undefined): string
  isInjected(headers: Readonly<Record<string, string>>, body: string | null): boolean
}

const mcp = (await import(new URL('../../deploy/examples/k6/mcp.js', import.meta.url).href)) as Mcp

describe('the k6 script reads answers', () => {
  it.each([
    ['data: {"a":1}\n\n', ['{"a":1}']],
    [
      'event: message\r\nid: 3\r\ndata:{"a":1}\r\n\r\n: a comment\r\n\r\ndata: 2\r\n\r\n',
      ['{"a":1}', '2'],
    ],
    ['data: one\rdata: two\r\rdata: cut', ['one\ntwo']],
    ['', []],
  ])('events of %j', (text, events) => {
    expect(mcp.eventsOf(text)).toEqual(events)
  })

  it('finds the response among notifications, requests and answers of others', () => {
    const body = [
      { method: 'notifications/progress' },
      { id: 1, method: 'ping' },
      { id: 2, result: {} },
      { id: 1, result: { content: [] } },
    ]
      .map((each) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`)
      .join('')
    const messages = mcp.messagesOf('text/event-stream; charset=utf-8', body)
    expect(mcp.answerTo(1, messages)?.result).toEqual({ content: [] })
    expect(mcp.answerTo(3, messages)).toBeUndefined()
  })

  it.each([
    ['application/json', '{"id":1,"result":{}}', 1],
    ['Application/JSON; charset=utf-8', '[{"id":1},{"id":2}]', 2],
    ['application/json', '{"id":1,', 0],
    ['application/json', 'null', 0],
    ['application/json', null, 0],
    ['text/html', '{}', 0],
    [undefined, '{}', 0],
  ])('%s %j', (type, body, count) => {
    expect(mcp.messagesOf(type, body)).toHaveLength(count)
  })

  it.each([
    [0, undefined, 'no_response'],
    [503, undefined, 'http_error'],
    [200, undefined, 'incomplete'],
    [200, { error: { code: -32000 } }, 'rpc_error'],
    [200, { result: { isError: true } }, 'tool_error'],
    [200, { result: {} }, 'ok'],
  ])('status %s with %j is %s', (status, answer, outcome) => {
    expect(mcp.outcomeOf(status, answer)).toBe(outcome)
  })

  it('sees what Squall has marked', () => {
    expect(mcp.isInjected({ 'X-Squall-Fault': 'slow;delay' }, '')).toBe(true)
    expect(mcp.isInjected({}, 'data: 1\n\n: x-squall-fault slow;delay\n\n')).toBe(true)
    expect(mcp.isInjected({}, 'data: ": x-squall-fault "\n\n')).toBe(false)
    expect(mcp.isInjected({}, null)).toBe(false)
  })
})

describe('the k6 script runs', () => {
  let server: ExampleServer

  beforeAll(async () => {
    server = await startUpstream('example')
  })
  afterAll(() => server.close())

  it('opens a session, calls the tool in it, and counts what came', async () => {
    const environment = { TARGET: `${server.origin}/mcp`, CALLS: '1' }
    const { stdout } = await run(process.execPath, [runner, script, JSON.stringify(environment)])
    const { added, thresholds } = JSON.parse(stdout) as {
      added: readonly { metric: string; value: unknown; outcome?: string }[]
      thresholds: object
    }
    const values = (metric: string): readonly unknown[] =>
      added.filter((each) => each.metric === metric).map(({ value }) => value)
    expect(values('the session is open')).toEqual([true])
    expect(values('mcp_responded')).toEqual([true])
    expect(values('mcp_injected')).toEqual([false])
    expect(values('mcp_call_duration')).toHaveLength(1)
    expect(added.flatMap(({ outcome }) => outcome ?? [])).toEqual(['ok'])
    expect(
      Object.keys(thresholds).every((name) => name === 'checks' || values(name).length > 0),
    ).toBe(true)
    expect(await server.executed()).toMatchObject({ get_weather: 1 })
  })
})
