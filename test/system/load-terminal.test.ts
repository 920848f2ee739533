// part: terminal
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedServer, startUpstream } from '../support/wire.ts'
import { startTerminal, type Terminal } from '../support/commands.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const inputSchema = { type: 'object' }
const TOOLS = [
  { name: 'look', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'bare', inputSchema },
]

let server: ScriptedServer
let terminal: Terminal

beforeEach(async () => {
  server = await startUpstream('scripted', ['ok'], TOOLS)
  terminal = await startTerminal(100, 40)
})

afterEach(async () => {
  await terminal?.close()
  await server?.close()
})

/** Begins a load; what is printed behind it is its exit code. */
async function start(more = ''): Promise<void> {
  const load = `${process.execPath} ${MAIN} load --target ${server.url.href} --task-count 4 --clients 1`
  await terminal.enter(`clear; ${load} ${more}; echo "ended:" $?`)
}

const called = (): readonly string[] => [...new Set(server.calls.map(({ tool }) => tool))].sort()

test('tools without a hint are named in the terminal, and called after a yes', async () => {
  await start()
  await terminal.shows(
    /do not declare whether they are read-only:\n {2}bare\nAlso call these tools\? \[y\/N\]/,
  )
  expect(server.calls).toEqual([])
  await terminal.enter('y')
  await terminal.shows(/^ended: 0$/m)
  expect(called()).toEqual(['bare', 'look'])
})

test.each(['', 'n', 'yesterday'])('%j is no yes: only the others are called', async (response) => {
  await start()
  await terminal.shows(/Also call these tools\?/)
  await terminal.enter(response)
  await terminal.shows(/^ended: 0$/m)
  expect(called()).toEqual(['look'])
})

test('Ctrl-C at the question ends the load before a call', async () => {
  await start()
  await terminal.shows(/Also call these tools\?/)
  await terminal.press('C-c')
  await terminal.shows(/^\$ *$|^ended: (?!0$)/m)
  expect(server.calls).toEqual([])
})

test('asks for no confirmation without a terminal: nothing is called', async () => {
  await start('</dev/null')
  await terminal.shows(/^ended: 2$/m)
  const screen = await terminal.screen()
  expect(screen).not.toContain('Also call these tools?')
  expect(screen).toContain('add --yes')
  expect(server.calls).toEqual([])
})
