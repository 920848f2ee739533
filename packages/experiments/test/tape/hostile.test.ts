import { readFile, truncate, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { Player } from '../../src/tape/player.ts'
import { openTape } from '../../src/tape/tape.ts'
import { TapeUpstream } from '../../src/tape/tape-upstream.ts'
import { CALL, LARGE_START, post, RESULT, writtenLarge } from './large.ts'
import { newPath, served, written } from './recorded.ts'

const open = closers()
const ESCAPES = '\u001b]0;owned\u0007\u001b[2J\u202e\r\nnext'

it.each([
  ['', /it is empty/],
  ['not JSON\n', /first line is not valid JSON/],
  ['{}\n', /first line is missing the key "tape"/],
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
    ['/nowhere/a.tape', 'no such file'],
    ['/tmp', 'not a regular file'],
  ] as const) {
    const { code, stderr } = await startProgram(['tape', 'show', path], {}, { here: true })
    expect(code).toBe(2)
    expect(stderr).toContain(`the tape "${path}"`)
    expect(stderr).toContain(why)
  }
})

it('reads a tape that begins with a BOM', async () => {
  const path = await written([{ ...CALL, params: { name: 'echo', arguments: {} } }])
  await writeFile(path, `\ufeff${await readFile(path, 'utf8')}`)
  const { code, stdout } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect({ code, hasCall: stdout.includes('echo') }).toEqual({ code: 0, hasCall: true })
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
  expect(stdout).toContain('7 lines could not be read, the first: line 2, invalid JSON')
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

it.each([
  ['anywhere', undefined],
  ['at the end of what one read of the file returns', 256 * 1024 - 9],
])('serves a result that is too large to be parsed in pieces, %s', async (_, offset) => {
  const path = await writtenLarge(17, offset)
  const { url } = open(await served(path))
  const response = await post(url, 'big', 'grüße')
  const text = await response.text()
  expect(text.slice(0, 120)).toMatch(LARGE_START)
  expect(Buffer.byteLength(text)).toBe(Number(response.headers.get('content-length')))
  expect(text.endsWith('x"}}')).toBe(true)
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

it('reads no more of a large result once the client has left', async () => {
  const tape = await openTape(await writtenLarge(17))
  open(tape)
  let pieces = 0
  const counted: typeof tape = {
    ...tape,
    async *pieces(text) {
      for await (const piece of tape.pieces(text)) {
        pieces++
        yield piece
      }
    },
  }
  const params = { name: 'big', arguments: {} }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
  const head = { method: 'POST', target: '/mcp', version: '1.1', headers: [] } as const
  await new Promise<void>((resolve) => {
    const transfer = new TapeUpstream(new Player(counted)).send(head, body, {
      info: () => undefined,
      head: () => undefined,
      data: () => {
        setImmediate(() => {
          transfer.abort()
          resolve()
        })
        return false
      },
      end: () => undefined,
      fail: () => undefined,
    })
  })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(pieces).toBeLessThan(5)
})

it('waits for the responses of many clients without a warning', async () => {
  const one = { name: 'ask', arguments: {} }
  const all = Array.from({ length: 12 }, (_, exchange) => [
    { ...CALL, exchange, id: exchange, params: one },
    { ...RESULT, exchange, id: 7, method: 'ping' },
    { ...RESULT, exchange, id: exchange, result: {} },
  ])
  const tape = await openTape(await written(all.flat()))
  open(tape)
  const warnings: Error[] = []
  const note = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', note)
  const player = new Player(tape)
  const left = new AbortController()
  const playing = all.map(async (_, id) => {
    const request = { kind: 'request', id, method: 'tools/call', params: one } as const
    for await (const { ends } of player.shared.play(request, left.signal)) expect(ends).toBe(false)
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  left.abort()
  await Promise.all(playing)
  process.off('warning', note)
  expect(warnings).toEqual([])
})
