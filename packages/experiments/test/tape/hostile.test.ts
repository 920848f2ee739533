import { createWriteStream } from 'node:fs'
import { appendFile, truncate, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { Tape } from '../../src/tape/tape.ts'
import { newPath, served, written } from './recorded.ts'

const open = closers()
const MIB = 1024 * 1024
const ESCAPES = '\u001b]0;owned\u0007\u001b[2J\u202e\r\nnext'
const CALL = { at: 1, exchange: 1, from: 'client', id: 1, method: 'tools/call' }
const RESULT = { at: 2, exchange: 1, from: 'server', via: 'json', id: 1 }

async function post(
  url: string,
  name: string,
  id: unknown = 7,
  args: object = {},
): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
}

it.each([
  ['', /it is empty/],
  ['not JSON\n', /first line is not JSON/],
  ['{}\n', /first line has no "tape"/],
  ['{"tape":2,"secrets":"kept"}\n', /version "2", and this program reads 1/],
  ['{"tape":1,"secrets":"perhaps"}\n', /invalid "secrets"/],
  ['{"tape":1,"secrets":"kept","redact":[1]}\n', /invalid "secrets" or "redact"/],
])('rejects a file that is not a tape: %j', async (text, message) => {
  const path = await newPath()
  await writeFile(path, text)
  const { code, stderr } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

it('rejects a directory and a missing file by name', async () => {
  for (const [path, why] of [
    ['/nowhere/a.tape', 'ENOENT'],
    ['/tmp', 'not a file'],
  ] as const) {
    const { code, stderr } = await startProgram(['tape', 'show', path], {}, { here: true })
    expect(code).toBe(2)
    expect(stderr).toContain(`the tape "${path}"`)
    expect(stderr).toContain(why)
  }
})

it('leaves out lines that are broken, and names the first of them', async () => {
  const broken = [
    '{"at":1,"exchange":1,"from":"client"',
    '[]',
    '{"at":"1","exchange":1,"from":"client"}',
    '{"at":1,"exchange":1,"from":"nobody"}',
    '{"at":1,"exchange":1,"from":"client","session":{}}',
    '{"at":1,"exchange":1,"from":"client","method":7}',
    '\u0000\u0001\u0002',
  ]
  const params = { name: 'echo', arguments: {} }
  const path = await written([...broken, '', { ...CALL, params }, { ...RESULT, result: { ok: 1 } }])
  const { stdout } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect(stdout).toContain('7 lines could not be read, the first: line 2, it is not valid JSON')
  const { url } = open(await served(path))
  expect(await (await post(url, 'echo')).json()).toMatchObject({ id: 7, result: { ok: 1 } })
})

it('shows and compares foreign texts without their escapes', async () => {
  const params = { name: ESCAPES, arguments: { [ESCAPES]: ESCAPES } }
  const said = (text: string): object => ({ content: [{ type: 'text', text }], [ESCAPES]: 1 })
  const lines = [{ ...CALL, session: ESCAPES, params }]
  const a = await written([...lines, { ...RESULT, result: said('a') }], { recordedAt: ESCAPES })
  const b = await written([...lines, { ...RESULT, result: { [`${ESCAPES}b`]: ESCAPES } }])
  for (const args of [
    ['show', a],
    ['show', a, '--json'],
    ['diff', a, b],
    ['diff', a, b, '--json', '--values'],
  ]) {
    const { stdout, stderr } = await startProgram(['tape', ...args], {}, { here: true })
    expect(stdout.length).toBeGreaterThan(20)
    // oxlint-disable-next-line no-control-regex -- these are what must not come
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  }
  const { url } = open(await served(a))
  expect(await (await post(url, ESCAPES, 7, { [ESCAPES]: ESCAPES })).json()).toMatchObject({
    result: said('a'),
  })
})

it('serves a result of 100 MB in pieces, and shows it without reading it', async () => {
  const path = await written([{ ...CALL, params: { name: 'big', arguments: {} } }])
  await appendFile(path, `${JSON.stringify(RESULT).slice(0, -1)},"result":{"text":"`)
  const piece = Buffer.alloc(MIB, 'x')
  const stream = createWriteStream(path, { flags: 'a' })
  for (let i = 0; i < 100; i++) if (!stream.write(piece)) await once(stream, 'drain')
  stream.end('"}}\n')
  await once(stream, 'close')
  const { url } = open(await served(path))
  const before = process.memoryUsage().rss
  const { stdout } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect(stdout).toMatch(/big +.*104,857,6\d\d +ok/)
  let size = 0
  let text = ''
  const response = await post(url, 'big', 'grüße')
  for await (const chunk of response.body!) {
    size += chunk.length
    text = (text.slice(0, 100) + Buffer.from(chunk).toString('latin1')).slice(0, 120)
  }
  expect(text).toMatch(/^\{"jsonrpc":"2.0","id":"gr\\u00fc\\u00dfe","result":\{"text":"xxx/)
  expect(size).toBe(Number(response.headers.get('content-length')))
  expect(process.memoryUsage().rss - before).toBeLessThan(90 * MIB)
})

it('responds with an error when the file is no longer what it was', async () => {
  const params = { name: 'echo', arguments: {} }
  const path = await written([
    { ...CALL, params },
    { ...RESULT, result: { ok: 1 } },
  ])
  const { url } = open(await served(path))
  await truncate(path, 20)
  const { error } = (await (await post(url, 'echo')).json()) as { error: { message: string } }
  expect(error.message).toMatch(/has changed at line 3/)
})

it('opens a tape of 100,000 calls in seconds, and holds little of it', async () => {
  const path = await written([])
  const stream = createWriteStream(path, { flags: 'a' })
  for (let i = 1; i <= 100_000; i++) {
    const params = { name: `tool-${i % 50}`, arguments: { number: i, query: `flights to ${i}` } }
    const content = [{ type: 'text', text: `result ${i} `.repeat(8) }]
    const lines = [
      { ...CALL, at: i, exchange: i, session: 'abcd', id: i, params },
      { ...RESULT, at: i, exchange: i, session: 'abcd', id: i, result: { content } },
    ]
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    if (!stream.write(text)) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'close')
  globalThis.gc?.()
  const before = process.memoryUsage()
  const cpu = process.cpuUsage()
  const tape = await Tape.open(path)
  const { user, system } = process.cpuUsage(cpu)
  globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed - before.heapUsed
  expect(tape.calls).toHaveLength(100_000)
  // Time of the processor: other programs may have the rest.
  expect((user + system) / 1000).toBeLessThan(4_000)
  expect(heap).toBeLessThan(100 * MIB)
  await tape.close()
})
