import { readdir, readlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { differences } from '../../src/tape/difference.ts'
import { record, written } from './recorded.ts'

const open = closers()

/** Returns the places of differences with their kinds. */
function found(recorded: unknown, live: unknown, byValue = false): string[] {
  return differences(recorded, live, byValue).map(({ kind, at }) => `${kind} ${at}`)
}

describe('two results', () => {
  it.each<[string, unknown, unknown, string[]]>([
    ['values', { a: 1, b: 'x' }, { a: 2, b: 'y' }, []],
    ['a member', { a: 1, b: 1 }, { a: 1 }, ['missing /b']],
    ['a new member', { a: 1 }, { a: 1, 'b/c': 1 }, ['new /b~1c']],
    ['a type', { a: 1 }, { a: '1' }, ['type /a']],
    ['a number of items', { a: [1, 2] }, { a: [3] }, []],
    ['an item', [{ a: 1 }, { b: 1 }], [{ a: 1 }], ['missing /*/b']],
    ['a text of JSON', { text: '{"a":1}' }, { text: '{"a":"1"}' }, ['type /text/a']],
    ['an error', { isError: false }, { isError: true }, ['value /isError']],
    ['a value that may be missing', { a: null }, { a: 'x' }, []],
    ['a secret', { a: '[redacted]' }, { a: { b: 1 } }, []],
    ['notes of the transport', { _meta: { a: 1 } }, {}, []],
  ])('differ in their shape by %s, or do not', (_what, recorded, live, expected) => {
    expect(found(recorded, live)).toEqual(expected)
  })

  it('differ in their values when asked for', () => {
    expect(found({ a: 1, b: [1, 2] }, { a: 2, b: [1, 3] }, true)).toEqual([
      'value /a',
      'value /b/1',
    ])
    expect(found({ a: [1] }, { a: [1, 2] }, true)).toEqual(['new /a/1'])
  })

  it('are compared within bounds', () => {
    const deep = (depth: number): unknown => (depth === 0 ? 1 : { a: deep(depth - 1) })
    expect(found(deep(1000), deep(999))).toEqual([])
    const wide = (from: number): object =>
      Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${from + i}`, 1]))
    expect(found(wide(0), wide(1000))).toHaveLength(20)
  })
})

const PLACE = { at: 1, session: 'abcd' }

function taped(exchange: number, name: string, args: object, result: object): object[] {
  const params = { name, arguments: args }
  return [
    { ...PLACE, exchange, from: 'client', id: exchange, method: 'tools/call', params },
    { ...PLACE, exchange, from: 'server', via: 'json', id: exchange, result },
  ]
}

it('shows what was removed, added and changed between two tapes', async () => {
  const before = await written([
    ...taped(1, 'price', { to: 'LIS' }, { total: 1 }),
    ...taped(2, 'price', { to: 'LIS' }, { total: 2 }),
    ...taped(3, 'book', {}, { id: 'a' }),
  ])
  const after = await written([
    ...taped(7, 'price', { to: 'LIS' }, { total: '1' }),
    ...taped(8, 'price', { to: 'LIS' }, { total: 3 }),
    ...taped(9, 'cancel', {}, {}),
  ])
  const { code, stdout } = await startProgram(['tape', 'diff', before, after], {}, { here: true })
  expect(code).toBe(1)
  expect(stdout).toBe(
    [
      'changed: tools/call price',
      '  /total is now string, not number',
      'removed: tools/call book',
      'added: tools/call cancel',
      '',
    ].join('\n'),
  )
  const values = ['tape', 'diff', before, after, '--values', '--json']
  const all = JSON.parse((await startProgram(values, {}, { here: true })).stdout) as object[]
  expect(all).toContainEqual(expect.objectContaining({ change: 'changed', occurrence: 1 }))
  const same = await startProgram(['tape', 'diff', before, before, '--values'], {}, { here: true })
  expect([same.code, same.stdout]).toEqual([0, 'no call changed\n'])
})

it('names calls without a response, and lines that could not be read', async () => {
  const [request, response] = taped(1, 'price', {}, {})
  const whole = await written([request!, response!])
  const cut = await written([request!, JSON.stringify(response).slice(0, -9)])
  const { code, stdout } = await startProgram(['tape', 'diff', whole, cut], {}, { here: true })
  expect(code).toBe(1)
  expect(stdout).toBe(
    `changed: tools/call price\n  /failed is new\n${cut}: 1 line could not be read: line 3, invalid JSON\n`,
  )
})

it('names its own flag when the live server does not respond', async () => {
  const path = await written(taped(1, 'price', {}, {}))
  const url = 'http://127.0.0.1:1/mcp'
  const check = await startProgram(['tape', 'check', path, '--upstream', url], {}, { here: true })
  expect(check.code).toBe(1)
  expect(check.stderr).toContain('check host and port of --upstream')
})

it.runIf(process.platform === 'linux')(
  'closes the tape where the live server or the other tape cannot be read',
  async () => {
    const path = await written(taped(1, 'price', {}, {}))
    const upstream = ['--upstream', 'http://127.0.0.1:1/mcp']
    const commands = [
      ['tape', 'check', path, ...upstream],
      ['tape', 'serve', path, ...upstream, '--admin', 'off'],
      ['tape', 'diff', path, `${path}.gone`],
    ]
    for (const args of commands) {
      const { code } = await startProgram(args, {}, { here: true })
      const links = await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) =>
          readlink(`/proc/self/fd/${fd}`).catch(() => ''),
        ),
      )
      expect({ args, code: code > 0, isOpen: links.includes(path) }).toEqual({
        args,
        code: true,
        isOpen: false,
      })
    }
  },
)

it('finds where a live server drifted from a tape, and calls no tool that may destroy', async () => {
  const server = open(await startUpstream('modern'))
  const lines = [
    ...taped(1, 'echo', { message: 'a' }, { content: [{ type: 'text', text: 'other' }] }),
    ...taped(2, 'add', { a: 1, b: 2 }, { content: [{ type: 'text', text: 'x', size: 1 }] }),
    ...taped(3, 'gone', {}, {}),
    ...taped(4, 'echo', { message: '[redacted]' }, {}),
  ]
  const path = await written(lines)
  const check = async (...more: readonly string[]) =>
    startProgram(['tape', 'check', path, '--upstream', server.url, ...more], {}, { here: true })
  const unnamed = await check()
  expect(unnamed.code).toBe(1)
  expect(unnamed.stdout).toContain(
    'skipped echo {"message":"a"} (line 2): the tool does not declare readOnlyHint',
  )
  expect(unnamed.stdout).toContain('drift   gone {} (line 6): the server has no such tool')
  const named = await check('--tool', 'echo', '--tool', 'add')
  expect(named.stdout).toContain('same    echo {"message":"a"} (line 2)')
  expect(named.stdout).toContain('drift   add {"a":1,"b":2} (line 4)\n')
  expect(named.stdout).toContain('  /content/*/size is missing\n')
  expect(named.stdout).toContain('an argument is redacted on the tape')
  expect(named.stdout).toContain('1 same, 2 drifted, 1 skipped')
  const values = await check('--tool', 'echo', '--values')
  expect(values.stdout).toContain('  /content/0/text is now "Echo: a", not "other"\n')
})

it('compares a text with a secret as the tape has it, and shows no secret', async () => {
  const server = open(await startUpstream('modern'))
  const check = async (text: string) => {
    const echoed = { content: [{ type: 'text', text }] }
    const path = await written(
      taped(1, 'echo', { message: 'the key AKIAABCDEFGHIJKLMNOP' }, echoed),
    )
    const flags = ['--upstream', server.url, '--values', '--tool', 'echo']
    return startProgram(['tape', 'check', path, ...flags], {}, { here: true })
  }
  expect((await check('Echo: the key [redacted]')).code).toBe(0)
  const { code, stdout } = await check('Echo: a key [redacted]')
  expect(code).toBe(1)
  expect(stdout).toContain('is now "Echo: the key [redacted]", not "Echo: a key [redacted]"')
})

it('finds no drift between a server and its own tape', async () => {
  const server = open(await startUpstream('modern'))
  const { openClient } = await import('../../../../test/support/wire.ts')
  const path = await record(server.url, async (url) => {
    const client = await openClient('v2 auto')(url, 'streamableHttp')
    await client.call('add', { a: 2, b: 3 })
    await client.call('fail')
    await client.close()
  })
  const flags = ['--upstream', server.url, '--values', '--tool', 'add', '--tool', 'fail', '--json']
  const { code, stdout } = await startProgram(['tape', 'check', path, ...flags], {}, { here: true })
  expect(JSON.parse(stdout)).toMatchObject({ same: 2, drift: 0, skipped: 0 })
  expect(code).toBe(0)
})

it('shows the requests of a tape, and the sessions that the server began', async () => {
  const started = { at: 1, exchange: 1, id: 1 }
  const result = { protocolVersion: '2025-06-18', capabilities: {} }
  const path = await written([
    { ...started, from: 'client', method: 'initialize', params: result },
    { ...started, at: 2, from: 'server', via: 'json', session: 'abcd', result },
    { at: 3, exchange: 2, id: 2, from: 'client', session: 'abcd', method: 'tools/list' },
    { at: 4, exchange: 2, id: 2, from: 'server', via: 'json', session: 'abcd', result: {} },
  ])
  const { stdout } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect(stdout).toContain('2 requests, 1 sessions, ')
})
