import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startRuled } from '../live/ruled-squall.ts'
import { mountRules } from '../live/rules-folder.ts'
import { closers } from '../support/closers.ts'
import { call } from '../support/http-call.ts'
import { RawClient } from '../support/raw-client.ts'

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
const ANSWER_HEADERS = ['set-cookie', 'www-authenticate', 'x-answer', 'location', 'mcp-session-id']

/** Makes secrets, and remembers where each was put. */
class Secrets {
  readonly #places = new Map<string, string>()

  plant(place: string): string {
    const secret = randomBytes(12).toString('hex')
    this.#places.set(secret, place)
    return secret
  }

  headers(names: readonly string[], place: string): Record<string, string> {
    return Object.fromEntries(names.map((name) => [name, this.plant(`${place} ${name}`)]))
  }

  /** The places whose secrets are in a text, whole, encoded, or their beginning. */
  foundIn(text: string): string[] {
    const found = [...this.#places].filter(([secret]) => {
      const encoded = Buffer.from(secret).toString('base64')
      return text.includes(secret.slice(0, 12)) || text.includes(encoded)
    })
    return found.map(([, place]) => place)
  }
}

/** Puts secrets into every part of an answer; the header `x-mode` says which kind of answer. */
function leakyApp(secrets: Secrets): RequestListener {
  return (req, res) => {
    const mode = String(req.headers['x-mode'])
    const put = (part: string): string => secrets.plant(`${mode} answer ${part}`)
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      if (mode === 'no-http') {
        res.socket!.end(`HTTP/1.1 200 ${put('reason')}\r\n${put('line')}\r\n\r\n${put('body')}`)
        return
      }
      const head = secrets.headers(ANSWER_HEADERS, `${mode} answer`)
      if (mode === 'cut') {
        res.writeHead(200, { ...head, 'content-type': 'application/json' })
        res.write(`{"result": "${put('body')}`, () => res.destroy())
        return
      }
      const { id } = readMessage(Buffer.concat(parts).toString())
      const error = { code: -32000, message: put('message'), data: { deep: [put('data')] } }
      const result = {
        content: [{ type: 'text', text: put('text') }],
        structuredContent: { key: put('structuredContent') },
        _meta: { key: put('_meta') },
        isError: mode === 'tool-error',
      }
      const message = { jsonrpc: '2.0', id, ...(mode === 'error' ? { error } : { result }) }
      const isStream = mode === 'stream'
      const type = isStream ? 'text/event-stream' : 'application/json'
      res.writeHead(mode === 'status' ? 401 : 200, { ...head, 'content-type': type })
      const data = JSON.stringify(message)
      const note = {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { data: put('note') },
      }
      const bad = mode === 'bad-answer' ? `{"${put('bad JSON')}` : data
      res.end(
        isStream
          ? `: ${put('comment')}\nid: ${put('event id')}\ndata: ${JSON.stringify(note)}\n\n` +
              `data: {"${put('bad event')}\n\ndata: ${data}\n\n`
          : bad,
      )
    })
  }
}

function readMessage(text: string): { id?: unknown } {
  try {
    return JSON.parse(text) as { id?: unknown }
  } catch {
    return { id: null }
  }
}

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

it('shows no secret of a request, an answer or an operator in logs, metrics or on the admin port', async () => {
  const secrets = new Secrets()
  const put = (place: string): string => secrets.plant(place)
  const token = put('admin token')
  const mounted = await mountRules(undefined)
  opened({ close: () => mounted.remove() })
  const tokenFile = join(mounted.folder, 'token')
  await writeFile(tokenFile, token)
  const flags = ['--header-faults', '--admin-token-file', tokenFile]
  const { squall, app } = opened(await startRuled(RULES, flags, leakyApp(secrets)))

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
    // A body that is cut, and an answer that is none, are as good as any.
    return call(place, message).then(
      ({ status }) => status,
      () => 0,
    )
  }
  const tool = (mode: string, name: string, more = {}): Promise<number> => {
    const args = { a: { b: [put(`${mode} ${name} argument`)] }, [put(`${mode} key`)]: 1 }
    return send(mode, 'tools/call', { name, arguments: args }, more)
  }

  expect(JSON.stringify(squall.logs)).not.toContain('mistakes')
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
    expect((await client.answer())!.status).toBeGreaterThanOrEqual(400)
    client.close()
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
  await squall.logged('answered for the app')

  const shown: Record<string, string> = {}
  for (const path of ['metrics', 'api/state', 'api/rules', 'api/faults', 'readyz', 'livez', '']) {
    const response = await fetch(`${squall.admin}/${path}`, {
      headers: { accept: 'text/html, */*' },
    })
    shown[`/${path}`] = await response.text()
  }
  shown['/api/events'] = await firstEvent(`${squall.admin}/api/events`)
  shown['logs'] = JSON.stringify(squall.logs)
  for (const rule of Object.keys(FAULTS)) {
    expect(shown['/api/faults'], `no fault of r-${rule}`).toContain(`"r-${rule}"`)
    expect(shown['logs'], `no line of r-${rule}`).toContain(`"r-${rule}"`)
  }
  for (const [where, text] of Object.entries(shown)) {
    expect(text.length, where).toBeGreaterThan(2)
    expect(secrets.foundIn(text), where).toEqual([])
  }
})
