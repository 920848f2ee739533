// part: slow
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startUpstream } from '../support/wire.ts'

// The script runs with stand-ins for the modules of k6, against real MCP servers; k6 itself is in
// test/system/k6-load.test.ts.
const run = promisify(execFile)
const script = fileURLToPath(new URL('../../deploy/examples/k6/load.js', import.meta.url))
const open = closers()
const runner = fileURLToPath(new URL('k6/run.mjs', import.meta.url))

interface Message {
  readonly id?: unknown
  readonly result?: object
}

interface Responses {
  eventsOf(text: string): readonly string[]
  messagesOf(type: string | undefined, body: string | null): readonly Message[]
  responseTo(id: number, messages: readonly Message[]): Message | undefined
  outcomeOf(status: number, response: object | undefined): string
  isInjected(headers: Readonly<Record<string, string>>, body: string | null): boolean
}

const responses = (await import(
  new URL('../../deploy/examples/k6/responses.js', import.meta.url).href
)) as Responses

describe('the k6 script reads responses', () => {
  it.each([
    ['data: {"a":1}\n\n', ['{"a":1}']],
    [
      'event: message\r\nid: 3\r\ndata:{"a":1}\r\n\r\n: a comment\r\n\r\ndata: 2\r\n\r\n',
      ['{"a":1}', '2'],
    ],
    ['data: one\rdata: two\r\rdata: cut', ['one\ntwo']],
    ['', []],
  ])('events of %j', (text, events) => {
    expect(responses.eventsOf(text)).toEqual(events)
  })

  it('finds the response among notifications, requests and responses of others', () => {
    const body = [
      { method: 'notifications/progress' },
      { id: 1, method: 'ping' },
      { id: 2, result: {} },
      { id: 1, result: { content: [] } },
    ]
      .map((each) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`)
      .join('')
    const messages = responses.messagesOf('text/event-stream; charset=utf-8', body)
    expect(responses.responseTo(1, messages)?.result).toEqual({ content: [] })
    expect(responses.responseTo(3, messages)).toBeUndefined()
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
    expect(responses.messagesOf(type, body)).toHaveLength(count)
  })

  it.each([
    [0, undefined, 'no_response'],
    [503, undefined, 'http_error'],
    [200, undefined, 'incomplete'],
    [200, { error: { code: -32000 } }, 'rpc_error'],
    [200, { result: { isError: true } }, 'tool_error'],
    [200, { result: {} }, 'ok'],
    [200, { result: { resultType: 'complete' } }, 'ok'],
    [200, { result: { resultType: 'input_required' } }, 'input_required'],
  ])('status %s with %j is %s', (status, response, outcome) => {
    expect(responses.outcomeOf(status, response)).toBe(outcome)
  })

  it('sees what Squall has marked', () => {
    expect(responses.isInjected({ 'X-Squall-Fault': 'slow;delay' }, '')).toBe(true)
    expect(responses.isInjected({}, 'data: 1\n\n: x-squall-fault slow;delay\n\n')).toBe(true)
    expect(responses.isInjected({}, 'data: ": x-squall-fault "\n\n')).toBe(false)
    expect(responses.isInjected({}, null)).toBe(false)
  })
})

interface Added {
  readonly metric: string
  readonly value: unknown
  readonly outcome?: string
}

/** Runs the script as one virtual user; returns the metrics and checks that it added. */
async function runScript(environment: Readonly<Record<string, string>>) {
  const { stdout } = await run(process.execPath, [runner, script, JSON.stringify(environment)])
  const { added, thresholds } = JSON.parse(stdout) as {
    readonly added: readonly Added[]
    readonly thresholds: object
  }
  const values = (metric: string): readonly unknown[] =>
    added.filter((each) => each.metric === metric).map(({ value }) => value)
  const outcomes = added.flatMap(({ outcome }) => outcome ?? [])
  return { values, outcomes, thresholds: Object.keys(thresholds) }
}

describe('the k6 script runs', () => {
  it('opens a session, calls the tool in it, and counts what came', async () => {
    const server = open(await startUpstream('example'))
    const { values, outcomes, thresholds } = await runScript({
      TARGET: `${server.origin}/mcp`,
      CALLS: '1',
    })
    expect(values('the session is open')).toEqual([true])
    expect(values('mcp_responded')).toEqual([true])
    expect(values('mcp_injected')).toEqual([false])
    expect(values('mcp_call_duration')).toHaveLength(1)
    expect(outcomes).toEqual(['ok'])
    expect(thresholds.every((name) => name === 'checks' || values(name).length > 0)).toBe(true)
    expect(await server.executed()).toMatchObject({ get_weather: 1 })
  })

  it('calls a tool without a session, and names it in headers, since 2026-07-28', async () => {
    const server = open(await startUpstream('modern'))
    const load = { TARGET: server.url, CALLS: '2', PROTOCOL: '2026-07-28' }
    const { values, outcomes, thresholds } = await runScript({
      ...load,
      TOOL: 'echo',
      ARGS: '{"message":"x"}',
    })
    expect(outcomes).toEqual(['ok', 'ok'])
    expect(thresholds.every((name) => values(name).length > 0)).toBe(true)
    const requests = server.requests.take(server.url)
    expect(requests).toHaveLength(2)
    for (const { request, headers } of requests) {
      expect(request).toBe('POST /mcp')
      expect(headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'echo' })
      expect(headers).not.toHaveProperty('mcp-session-id')
    }
    // The server has no such tool, but it reads the name.
    expect((await runScript({ ...load, TOOL: '日本' })).outcomes).toEqual([
      'rpc_error',
      'rpc_error',
    ])
    expect(server.requests.take(server.url)[0]!.headers['mcp-name']).toBe('=?base64?5pel5pys?=')
  })

  it('names the protocol versions that it knows', async () => {
    const load = runScript({ PROTOCOL: '2026-07-29' })
    await expect(load).rejects.toThrow('PROTOCOL must be 2025-06-18 or 2026-07-28; got 2026-07-29')
  })
})
