// part: clients
// The filesystem server, as desktop clients start it, alone and through squall stdio.
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { outcome } from '../support/wire.ts'
import { play } from './python-play.ts'
import { CLIENTS, twice } from './stdio-twice.ts'
import { systemTool } from './tools.ts'

const SERVER = [
  process.execPath,
  systemTool(
    'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    'The filesystem server',
  ),
]
const LARGE = 'grüße 🌊\n'.repeat(6_000)

type ToolCall = readonly [string, Record<string, unknown>]

/** The calls of a client that works in a directory. */
const callsIn = (directory: string): readonly ToolCall[] => {
  const path = (name: string): string => join(directory, name)
  return [
    ['list_allowed_directories', {}],
    ['list_directory', { path: directory }],
    ['read_text_file', { path: path('notes.txt') }],
    ['write_file', { path: path('large.txt'), content: LARGE }],
    ['read_text_file', { path: path('large.txt') }],
    ['edit_file', { path: path('notes.txt'), edits: [{ oldText: 'one', newText: 'two' }] }],
    ['read_media_file', { path: path('notes.txt') }],
    ['directory_tree', { path: directory }],
    ['read_text_file', { path: path('missing.txt') }],
    ['read_text_file', { path: path('../../etc/hostname') }],
    ['read_text_file', { path: path('outside') }],
    ['write_file', { path: '/outside.txt', content: 'x' }],
    ['read_text_file', {}],
    ['no-such-tool', {}],
  ]
}

interface Played {
  readonly tools: unknown
  readonly calls: readonly unknown[]
  /** The messages that the server sent of its own accord. */
  readonly received: readonly { readonly method: string }[]
}

/** Plays the calls in a new directory, whose name is replaced in all that the client sees. */
async function playIn(
  playWith: (directory: string, calls: readonly ToolCall[]) => Promise<Played>,
): Promise<Played> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'squall-files-')))
  try {
    await writeFile(join(directory, 'notes.txt'), 'one\n')
    await symlink('/etc/hostname', join(directory, 'outside'))
    const seen = JSON.stringify(await playWith(directory, callsIn(directory)))
    return JSON.parse(seen.replaceAll(directory, '<directory>')) as Played
  } finally {
    await rm(directory, { recursive: true })
  }
}

const ok = (text: string): object => ({
  result: { content: [{ text: expect.stringContaining(text) as string }] },
})
const denied = (text: string): object => ({
  result: { isError: true, content: [{ text: expect.stringContaining(text) as string }] },
})

function checkDirect({ calls, received }: Played): void {
  expect(received.map(({ method }) => method)).toEqual(['roots/list'])
  expect(calls).toMatchObject([
    ok('<directory>'),
    ok('[FILE] notes.txt'),
    ok('one\n'),
    ok('Successfully wrote'),
    ok(LARGE),
    ok('+two'),
    { result: { structuredContent: { content: [{ resource: { blob: 'dHdvCg==' } }] } } },
    ok('large.txt'),
    denied('ENOENT'),
    denied('outside allowed directories'),
    denied('outside allowed directories'),
    denied('outside allowed directories'),
    denied('Invalid arguments'),
    expect.anything(),
  ])
}

it.each(CLIENTS)('files look the same to the client of %s', async (_, open) => {
  const { direct, through } = await twice(SERVER, (command) =>
    playIn(async (directory, calls) => {
      const client = await open(JSON.stringify([...command, directory]), 'stdio')
      try {
        const seen: unknown[] = []
        const tools = await client.listTools()
        for (const [name, args] of calls) seen.push(await outcome(client.call(name, args)))
        return { tools, calls: seen, received: client.received.all }
      } finally {
        await client.close()
      }
    }),
  )
  checkDirect(direct)
  expect(through).toEqual(direct)
})

it('files look the same to the client of the Python SDK', async () => {
  const { direct, through } = await twice(SERVER, (command) =>
    playIn(async (directory, calls) => {
      const asked = JSON.stringify([...command, directory])
      const seen = await play('files', asked, 'stdio', JSON.stringify(calls))
      return { tools: seen['tools'], calls: [seen['calls']].flat(), received: seen.received }
    }),
  )
  checkDirect(direct)
  expect(through).toEqual(direct)
})
