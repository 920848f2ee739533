/*
 * Without `--tools` the load called every tool that the server listed, also those that say of
 * themselves that they destroy something.
 */
import { afterEach, expect, test } from 'vitest'
import type { LoadHooks } from '../../src/load/run-load.ts'
import { load } from './load-run.ts'
import { type ScriptedServer, startUpstream } from '../../../../test/support/wire.ts'

const inputSchema = { type: 'object' }
const READS = { name: 'look', inputSchema, annotations: { readOnlyHint: true } }
const UNMARKED = [
  { name: 'bare', inputSchema },
  { name: 'titled', inputSchema, annotations: { title: 'Titled', idempotentHint: true } },
  { name: 'nulls', inputSchema, annotations: { readOnlyHint: null, destructiveHint: null } },
]
const WRITING = [
  { name: 'drop', inputSchema, annotations: { readOnlyHint: false, destructiveHint: true } },
  { name: 'change', inputSchema, annotations: { readOnlyHint: false } },
  { name: 'add', inputSchema, annotations: { readOnlyHint: false, destructiveHint: false } },
  { name: 'both', inputSchema, annotations: { readOnlyHint: true, destructiveHint: true } },
  { name: 'vague', inputSchema, annotations: { readOnlyHint: 'yes' } },
]

let server: ScriptedServer

afterEach(() => server.close())

async function called(
  tools: readonly object[],
  work: { tools?: readonly string[] } = {},
  hooks: LoadHooks = {},
): Promise<{ tools: readonly string[]; leftOut: unknown }> {
  server = await startUpstream('scripted', ['ok'], tools)
  const { run } = await load({ url: server.url, work, pace: { tasks: 60 } }, hooks)
  const names = [...new Set(server.calls.map(({ tool }) => tool))].sort()
  expect([...(run.options['tools'] as string[])].sort()).toEqual(names)
  return { tools: names, leftOut: run.leftOut }
}

test('tools that say that they write or destroy are called only when they are named', async () => {
  const all = [READS, ...WRITING]
  const unasked = await called(all, {}, { consent: () => true })
  expect(unasked.tools).toEqual(['look'])
  expect(unasked.leftOut).toEqual([
    { tool: 'drop', why: 'destructive' },
    { tool: 'change', why: 'destructive' },
    { tool: 'add', why: 'not_read_only' },
    { tool: 'both', why: 'destructive' },
    { tool: 'vague', why: 'destructive' },
  ])
  await server.close()
  const named = await called(all, { tools: ['add', 'drop'] })
  expect(named).toEqual({ tools: ['add', 'drop'], leftOut: undefined })
})

test('tools without a hint are called after they were shown, and not without consent', async () => {
  const asked: string[][] = []
  const consent = (response: boolean): LoadHooks => ({
    consent: (names) => asked.push([...names]) > 0 && response,
  })
  const all = [READS, ...UNMARKED]
  expect((await called(all, {}, consent(true))).tools).toEqual(['bare', 'look', 'nulls', 'titled'])
  await server.close()
  const { tools, leftOut } = await called(all, {}, consent(false))
  expect(tools).toEqual(['look'])
  expect(leftOut).toContainEqual({ tool: 'bare', why: 'no_hint' })
  expect(asked).toEqual([
    ['bare', 'titled', 'nulls'],
    ['bare', 'titled', 'nulls'],
  ])
})

const yes: LoadHooks = { consent: () => true }
const no: LoadHooks = { consent: () => false }

test.each<[string, readonly object[], LoadHooks, RegExp]>([
  [
    'nobody can be asked',
    [READS, ...UNMARKED],
    {},
    /3 tools do not declare .*: bare, titled, nulls;/,
  ],
  ['consent is refused', UNMARKED, no, /no tool declares readOnlyHint/],
  ['none may be called unnamed', WRITING, yes, /called by default: drop, change/],
  // The name alone does not distinguish the two.
  ['a name is listed twice', [READS, { ...READS, annotations: {} }], no, /no tool declares/],
])('nothing is called where %s', async (_, tools, hooks, why) => {
  server = await startUpstream('scripted', ['ok'], tools)
  await expect(load({ url: server.url, pace: { tasks: 9 } }, hooks)).rejects.toThrow(why)
  expect(server.calls).toEqual([])
})

test('a file of calls names its tools', async () => {
  server = await startUpstream('scripted', ['ok'], [READS, ...WRITING])
  const calls = [{ tool: 'drop', weight: 1, expect: [] }]
  const { run } = await load({ url: server.url, work: { calls }, pace: { tasks: 3 } })
  expect(server.calls.map(({ tool }) => tool)).toEqual(['drop', 'drop', 'drop'])
  expect(run.leftOut).toBeUndefined()
})
