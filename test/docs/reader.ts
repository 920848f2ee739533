import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/wire.ts'
import { ROOT } from './blocks.ts'

const MAIN = `${ROOT}dist/cli/main.js`
/** Ports that pages name; each reader has free ones in their place. */
const NAMED = ['3000', '3001', '5432', '8080', '9464', '15300', '15390', '15391', '15400', '15432']
const PORTS = new RegExp(`\\b(?:${NAMED.join('|')})\\b`, 'g')
/** Programs that run until they are stopped: a reader has a terminal for each. */
const STAYS =
  /^(?:npx mcp-squall (?:run|demo --stay|top(?! --once))|node (?:\S*\/)?examples\/server|npx supergateway|curl -sN)|&$/
const IS_UP = /https?:\/\/|listening|^data: |\barmed\b/m
const LIMIT = 120_000

/** A command that has ended, and all that it printed. */
export interface Ran {
  readonly code: number | null
  readonly text: string
}

/** Somebody who follows a page in a clone: a directory of their own, a shell, and free ports. */
export interface Reader {
  readonly directory: string
  /** The port that stands in for the one of the page. */
  port(named: number): number
  /** Writes a file as the page has it, but for its ports. */
  write(name: string, text: string): Promise<void>
  /** Runs a command to its end; a program that stays is waited for until it is up. */
  run(command: string): Promise<Ran>
  close(): Promise<void>
}

/** The setup of a reader's machine. */
export interface Setup {
  /** The directory to work in; by default a new one that looks like a clone. */
  readonly directory?: string
  /** Where npx finds programs other than squall; by default in this project. */
  readonly modules?: string
  /** Directories of further programs. */
  readonly path?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Makes a reader, whose programs end when it is closed. */
export async function pageReader(setup: Setup): Promise<Reader> {
  const home = await mkdtemp(join(tmpdir(), 'squall-reader-'))
  const directory = setup.directory ?? (await cloneIn(home))
  const bin = join(home, 'bin')
  await mkdir(bin)
  // In a directory of its own, npx is that of npm.
  if (setup.directory === undefined) await shim(bin, setup.modules)
  const ports = new Map<string, number>()
  for (const named of NAMED) {
    ports.set(named, await freePort())
  }
  const port = (named: number): number => ports.get(String(named))!
  const here = (text: string): string =>
    text.replaceAll(PORTS, (named) => String(port(Number(named))))
  const env = {
    PATH: [bin, ...(setup.path ?? []), process.env['PATH']].join(':'),
    HOME: home,
    TMPDIR: home,
    PYTHONDONTWRITEBYTECODE: '1',
    PORT: String(port(3000)),
    SQUALL_LISTEN: `127.0.0.1:${port(15300)}`,
    SQUALL_UPSTREAM: `http://127.0.0.1:${port(3000)}`,
    SQUALL_ADMIN: `127.0.0.1:${port(15390)}`,
    SQUALL_ADMIN_TOKEN: 'a-token-of-the-reader',
    npm_config_update_notifier: 'false',
    ...setup.env,
  }
  const staying: ChildProcess[] = []
  const start = (command: string): ChildProcess =>
    spawn('bash', ['-c', here(command)], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: a shell, npx and the program end together.
      detached: true,
    })
  return {
    directory,
    port,
    write: (name, text) => writeFile(join(directory, name), here(text)),
    async run(command) {
      const stays = STAYS.test(command)
      const child = start(command.replace(/ *&$/, ''))
      if (stays) staying.push(child)
      // Where the output goes to a file, the next command has to wait for the program.
      if (/> \S+.*&$/.test(command)) return { code: null, text: '' }
      return outcomeOf(child, stays ? IS_UP : undefined)
    },
    async close() {
      for (const child of staying.toReversed()) await endOf(child)
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Makes a directory that looks like a clone which was built. */
async function cloneIn(home: string): Promise<string> {
  const clone = join(home, 'squall')
  await mkdir(clone)
  for (const name of await readdir(ROOT)) {
    if (!/^(?:build|rules\.yaml|experiments)$/.test(name)) {
      await symlink(join(ROOT, name), join(clone, name))
    }
  }
  return clone
}

/** Stands in for npx, which takes half a second: it runs the program that npx would find. */
async function shim(bin: string, modules = `${ROOT}node_modules`): Promise<void> {
  const npx = join(bin, 'npx')
  const node = process.execPath
  const script = `#!/bin/sh
name="$1"
shift
case "$name" in
mcp-squall) exec '${node}' '${MAIN}' "$@" ;;
vitest) exec '${node}' '${ROOT}node_modules/vitest/vitest.mjs' "$@" ;;
*) exec "${modules}/.bin/$(basename "$name")" "$@" ;;
esac
`
  await writeFile(npx, script)
  await chmod(npx, 0o755)
}

/** Resolves when the program has ended, or has printed what shows that it is up. */
async function outcomeOf(child: ChildProcess, isUp: RegExp | undefined): Promise<Ran> {
  let text = ''
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    void endOf(child)
  }, LIMIT)
  const up = new Promise<Ran>((resolve) => {
    for (const output of [child.stdout!, child.stderr!]) {
      output.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (isUp?.test(text) === true) resolve({ code: null, text })
      })
    }
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, text }))
  const first = await Promise.race([up, ended])
  clearTimeout(timer)
  if (isLate) throw new Error(`not done after ${LIMIT / 1000} s: ${text}`)
  if (isUp !== undefined && first.code !== null) throw new Error(`ended at once: ${text}`)
  return first
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  process.kill(-child.pid!, 'SIGKILL')
  await ended
}
