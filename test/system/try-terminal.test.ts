// part: terminal
// The first injected error is one command away: the steps are asserted, their times are printed.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  FIXTURE_COMMAND,
  isAlive,
  startProgram,
  startTerminal,
  type Terminal,
} from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAM = join(ROOT, 'bin', 'squall.cjs')
const EXAMPLE = join(ROOT, 'examples', 'server.mjs')
/** Ignores the end of its input, and all signals that it can. */
const STUBBORN = `for (const name of ['SIGTERM','SIGINT','SIGHUP']) process.on(name, () => {}); setInterval(() => {}, 1000); console.error('pid', process.pid); await import('${EXAMPLE}')`

let terminal: Terminal
let begun: number

beforeEach(async () => {
  terminal = await startTerminal(160, 50)
  begun = performance.now()
})

afterEach(() => terminal?.close().catch(() => undefined))

/** Types the command, and follows it up to the injected error and the page. */
async function follow(
  options: string,
  server: readonly string[],
  program = `${process.execPath} ${PROGRAM}`,
): Promise<string> {
  const command = `${program} try ${options} -- ${server.join(' ')}`
  await terminal.enter(`clear; ${command}; echo "ended:" $?`)
  for (const step of [
    /^Starting /m,
    /^ call .* succeeded after/m,
    /^ fault .* responds with status 503/m,
    /^ same call {2}failed after .* HTTP status 503 \(injected by Squall\)/m,
    /^ page {7}http:\/\/127\.0\.0\.1:\d+\/$/m,
    /^ Ctrl-C stops everything/m,
  ]) {
    await terminal.shows(step)
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    process.stdout.write(`try: ${seconds} s ${String(step)}\n`)
  }
  return terminal.screen()
}

/** Fails while a page is there. */
async function closedPage(screen: string): Promise<void> {
  const [, page = ''] = /^ page +(\S+)$/m.exec(screen) ?? []
  expect((await fetch(page).catch(() => undefined))?.status).toBeUndefined()
}

test('a server of stdio: the injected error, the page, and Ctrl-C that ends it all', async () => {
  const screen = await follow('--tool pid', FIXTURE_COMMAND)
  const pid = await pidBehind(screen)
  expect(isAlive(pid)).toBe(true)
  await terminal.press('C-c')
  await terminal.shows(/ended: 0$/m)
  await closedPage(screen)
  await eventually(() => (isAlive(pid) ? `${pid} runs` : undefined))
})

/** Ends the fault by the command that the screen shows, and asks the server for its process. */
async function pidBehind(screen: string): Promise<number> {
  const [, url = ''] = /give your client this URL: (\S+)/.exec(screen) ?? []
  const [, admin = '', file = ''] =
    /fault clear --sidecar (\S+) --admin-token-file (\S+)/.exec(screen) ?? []
  const clear = ['fault', 'clear', '--sidecar', admin, '--admin-token-file', file]
  expect((await startProgram(clear).finished()).code).toBe(0)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'pid' },
  })
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  return Number(/"text":"(\d+)"/.exec(await response.text())?.[1])
}

test('a server of HTTP that ignores signals is ended, when the terminal is closed as well', async () => {
  const screen = await follow('', [
    'env',
    'PORT=0',
    process.execPath,
    '--input-type=module',
    '-e',
    `"${STUBBORN}"`,
  ])
  expect(screen).toContain('by http')
  const list = (): readonly string[] =>
    execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes("'SIGTERM','SIGINT','SIGHUP'"))
  expect(list().length).toBeGreaterThan(0)
  await terminal.close()
  await eventually(() => list().join('\n') || undefined)
})

test('in a new clone after npm ci, one command builds and shows the error', async () => {
  const clone = await mkdtemp(join(tmpdir(), 'squall-clone-'))
  onTestFinished(() => rm(clone, { recursive: true, force: true, maxRetries: 5 }))
  execFileSync('git', ['clone', '--quiet', ROOT, clone])
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  const server = ['env', 'PORT=0', 'node', 'examples/server.mjs']
  const screen = await follow('', server, `cd ${clone} && npx mcp-squall`)
  expect(screen).toMatch(/first start in this clone: building \(about 10 s\) +\d+ s/)
  await terminal.press('C-c')
  // A shell that sees npx end by Ctrl-C runs nothing after it.
  await terminal.shows(/^\$ *$|ended: \d/m)
  await closedPage(screen)
  expect(await terminal.screen()).not.toContain('The last lines of the server')
})
