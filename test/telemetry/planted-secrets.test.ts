import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { changeArming } from '../../packages/tools/src/top/controls.ts'
import { topOnce } from '../../packages/tools/src/top/top.ts'
import { mountRules } from '../live/rules-directory.ts'
import { closers } from '../support/closers.ts'
import { call, RawClient } from '../support/wire.ts'
import { leakyApp, leakyUpgrades } from './leaky-app.ts'
import { Secrets } from './secrets.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()

const FAULTS = {
  late: 'delay: { fixed: 1ms }',
  refused: 'abort: { toolError: no }',
  short: 'truncate',
  moved: 'rewrite: { rename: { /key: other } }',
  broken: 'corrupt',
  lost: 'session',
  limited: 'rateLimit',
}
const RULES = `rules:\n${Object.entries(FAULTS)
  .map(([tool, fault]) => `  - { name: r-${tool}, match: { tool: ${tool} }, faults: [${fault}] }\n`)
  .join('')}`
const REQUEST_HEADERS = [
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'mcp-session-id',
  'x-custom',
  'user-agent',
  'referer',
  'origin',
  'last-event-id',
  'x-forwarded-for',
]

/** The first event of a stream that never ends by itself. */
async function firstEvent(url: string): Promise<string> {
  const leaving = new AbortController()
  const response = await fetch(url, { signal: leaving.signal })
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of response.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true })
    if (/data: .*\n\n/.test(text)) break
  }
  leaving.abort()
  return text
}

it('shows no secret of a request, a response or an operator in logs, metrics or on the admin port', async () => {
  const secrets = new Secrets()
  const put = (place: string): string => secrets.plant(place)
  const token = put('admin token')
  const mounted = await mountRules(undefined)
  opened({ close: () => mounted.remove() })
  const tokenFile = join(mounted.directory, 'token')
  await writeFile(tokenFile, token)
  const flags = ['--header-faults', '--admin-token-file', tokenFile]
  const { squall, app } = opened(
    await startSquall({ rules: RULES, flags, upstream: leakyApp(secrets) }),
  )
  leakyUpgrades(app.server, secrets)

  const send = async (mode: string, method: string, params: object, more = {}): Promise<number> => {
    const headers = {
      ...secrets.headers(REQUEST_HEADERS, mode),
      'x-mode': mode,
      ...more,
    }
    const path = `/mcp?key=${put(`${mode} query`)}`
    const place = { port: squall.port, host: '127.0.0.1', path, headers }
    const _meta = { progressToken: put(`${mode} progressToken`), key: put(`${mode} _meta`) }
    const message = { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }
    // A body that is cut, and a response that is none, are as good as any.
    return call(place, message).then(
      ({ status }) => status,
      () => 0,
    )
  }
  const tool = (mode: string, name: string, more = {}): Promise<number> => {
    const args = { a: { b: [put(`${mode} ${name} argument`)] }, [put(`${mode} key`)]: 1 }
    return send(mode, 'tools/call', { name, arguments: args }, more)
  }

  expect(JSON.stringify(squall.logs)).not.toContain('problems')
  const modes = ['fine', 'stream', 'error', 'tool-error', 'status', 'bad-answer', 'cut', 'no-http']
  for (const mode of modes) {
    for (const name of ['plain', ...Object.keys(FAULTS)]) await tool(mode, name)
  }
  const callers = { authorization: put('limited caller'), 'mcp-session-id': put('lost session') }
  await tool('fine', 'limited', callers)
  await tool('fine', 'limited', callers)
  for (const name of ['lost', 'plain']) await tool('fine', name, callers)
  for (const header of ['x-squall-delay', 'x-squall-abort', 'x-envoy-fault-delay-request']) {
    await tool('fine', 'plain', { [header]: put(header) })
  }
  await tool('fine', 'plain', { 'x-squall-abort': '503', 'x-squall-percent': put('percent') })
  await tool('fine', 'plain', { 'x-squall-abort': '503' })
  await send('fine', 'resources/read', { uri: `file:///${put('uri')}` })
  await send('fine', 'prompts/get', {
    name: put('prompt'),
    arguments: { x: put('prompt argument') },
  })
  const clientInfo = { name: put('client'), version: put('version') }
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: { x: put('capability') },
    clientInfo,
  }
  await send('fine', 'initialize', hello)
  const strayHeaders = { 'content-encoding': put('coding'), 'x-mode': 'fine' }
  const stray = { port: squall.port, host: '127.0.0.1', path: `/${put('path')}` }
  await call({ ...stray, path: '/mcp' }, `{"id": "${put('bad JSON')}`)
  await call({ ...stray, path: '/mcp', headers: strayHeaders }, `{"x": "${put('coded')}"}`)
  await call(stray, { x: put('other body') })
  for (const bytes of [
    `GET /${put('two hosts')} HTTP/1.1\r\nHost: a\r\nHost: ${put('host')}\r\n\r\n`,
    `GET /x HTTP/1.1\r\nHost: a\r\n${put('name')} : ${put('value')}\r\n\r\n`,
    `POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${put('transfer coding')}\r\n\r\n`,
    `GET http://${put('authority')}/ HTTP/1.1\r\nHost: a\r\n\r\n`,
  ]) {
    const client = await RawClient.connect(squall.port)
    await client.send(bytes, 'GET')
    expect((await client.response())!.status).toBeGreaterThanOrEqual(400)
    client.close()
  }

  const batch = ['plain', ...Object.keys(FAULTS)].map((name, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: { a: put(`batch ${name} argument`) }, _meta: { m: put('_meta') } },
  }))
  for (const mode of ['fine', 'stream', 'error', 'status', 'cut']) {
    const headers = { ...secrets.headers(REQUEST_HEADERS, `batch ${mode}`), 'x-mode': mode }
    const place = { port: squall.port, host: '127.0.0.1', path: `/mcp?k=${put('batch query')}` }
    const called = await call({ ...place, headers }, batch).catch(() => undefined)
    if (mode === 'fine') expect(called?.status).toBe(200)
  }

  const lines = (place: string, mode: string): string =>
    Object.entries({ ...secrets.headers(REQUEST_HEADERS, place), 'x-mode': mode })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  const stream = await RawClient.connect(squall.port)
  opened(stream)
  await stream.send(
    `GET /sse?key=${put('sse query')} HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n${lines('sse', 'http+sse')}\r\n`,
    'GET',
  )
  await stream.sees('endpoint')
  const [, endpoint] = /data: (\S+)/.exec(stream.text)!
  for (const [id, name] of ['plain', ...Object.keys(FAULTS)].entries()) {
    const headers = { ...secrets.headers(REQUEST_HEADERS, 'posted'), 'x-mode': 'http+sse' }
    const params = { name, arguments: { a: put('posted argument') } }
    const message = { jsonrpc: '2.0', id: 1_000 + id, method: 'tools/call', params }
    const place = { port: squall.port, host: '127.0.0.1', path: endpoint!, headers }
    await call(place, message).catch(() => undefined)
  }
  expect(await stream.sees('"id":1000')).toBe(true)

  for (const mode of ['ws fine', 'ws refused', 'ws cut']) {
    const client = opened(await RawClient.connect(squall.port))
    await client.send(
      `GET /ws/${put('ws path')}?key=${put('ws query')} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\n` +
        `upgrade: websocket\r\nsec-websocket-key: ${put('ws key')}\r\n` +
        `sec-websocket-protocol: ${put('ws protocol')}\r\n${lines(mode, mode)}\r\n`,
      'GET',
    )
    if (mode === 'ws fine') {
      expect((await client.head())!.status).toBe(101)
      await client.send(put('ws frame'))
      expect(await client.sees('frame ')).toBe(true)
      client.close()
    } else expect((await client.response())?.status).toBe(mode === 'ws cut' ? undefined : 401)
  }

  for (const authorization of [`Bearer ${put('wrong admin token')}`, `Bearer ${token}`]) {
    for (const path of ['disarm', 'arm']) {
      const headers = {
        authorization,
        cookie: put('admin cookie'),
        'user-agent': put('admin agent'),
      }
      await fetch(`${squall.admin}/api/${path}?x=${put('admin query')}`, {
        method: 'POST',
        headers,
      })
    }
  }
  app.server.closeAllConnections()
  app.server.close()
  expect(await tool('down', 'plain')).toBe(502)
  await squall.logged('responded instead of the upstream')

  const shown: Record<string, string> = {}
  const api = ['api/state', 'api/rules', 'api/faults', 'api/injections']
  for (const path of ['metrics', ...api, 'readyz', 'livez', '']) {
    const response = await fetch(`${squall.admin}/${path}`, {
      headers: { accept: 'text/html, */*' },
    })
    shown[`/${path}`] = await response.text()
  }
  shown['/api/events'] = await firstEvent(`${squall.admin}/api/events`)
  const endpoints = [{ host: '127.0.0.1', port: squall.running.admin!.port }]
  const tops = [true, false].map(async (json) => {
    let text = ''
    const write = (part: string): void => void (text += part)
    expect(
      await topOnce({ endpoints, json, colours: false, width: 250, write, timeoutMs: 15_000 }),
    ).toBe(0)
    shown[`squall top${json ? ' --json' : ''}`] = text
  })
  await Promise.all(tops)
  shown['what squall top did'] = await changeArming(endpoints[0]!, 'arm', token)
  shown['logs'] = JSON.stringify(squall.logs)
  for (const rule of Object.keys(FAULTS)) {
    expect(shown['/api/injections'], `no fault of r-${rule}`).toContain(`"r-${rule}"`)
    expect(shown['logs'], `no line of r-${rule}`).toContain(`"r-${rule}"`)
  }
  expect(shown['squall top']).toMatch(/r-late +delay/)
  for (const [where, text] of Object.entries(shown)) {
    expect(text.length, where).toBeGreaterThan(2)
    expect(secrets.foundIn(text), where).toEqual([])
  }
})
