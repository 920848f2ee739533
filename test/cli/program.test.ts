// part: slow
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { type Finished, portOf, type Program, startProgram } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { freePort, startUpstream } from '../support/wire.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-'))
const BIN = fileURLToPath(new URL('../../bin/squall.cjs', import.meta.url))
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const garbage = join(directory, 'garbage.pem')
writeFileSync(garbage, 'no certificate')
afterAll(() => rmSync(directory, { recursive: true }))

const opened = closers()
const UPSTREAM = ['--upstream', 'http://127.0.0.1:9']
const ANYWHERE = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', ...UPSTREAM]

function start(...args: string[]): Program {
  const program = startProgram(['run', ...ANYWHERE, ...args])
  opened({ close: () => program.kill() })
  return program
}

const misuses: readonly [string, string[], RegExp, Record<string, string>?][] = [
  [
    'an unknown flag',
    ['run', '--max-header-siz', '1KiB'],
    /"--max-header-siz".*did you mean --max-header-size\?/,
  ],
  [
    'an address without a port',
    ['run', '--listen', 'localhost'],
    /--listen: "localhost" has no port; write/,
  ],
  [
    'an upstream that is no URL',
    ['run', '--upstream', '127.0.0.1:3000'],
    /write http:\/\/127\.0\.0\.1:3000/,
  ],
  [
    'an upstream that is the listener',
    ['run', '--listen', '127.0.0.1:3000', '--upstream', 'http://localhost:3000'],
    /http:\/\/localhost:3000 is the address of --listen 127\.0\.0\.1:3000; point --upstream at your MCP server/,
  ],
  [
    'a TLS file that cannot be read',
    ['run', '--tls-cert', '/nowhere/cert.pem', '--tls-key', fixture('first.key')],
    /--tls-cert: "\/nowhere\/cert\.pem" cannot be read \(no such file or directory\); check the path/,
  ],
  [
    'the key of another certificate',
    ['run', '--tls-cert', fixture('first.pem'), '--tls-key', fixture('second.key')],
    /--tls-cert and --tls-key: .*does not match it; check/,
  ],
  [
    'an authority that is none',
    ['run', '--upstream', 'https://127.0.0.1:9', '--upstream-ca', garbage],
    /--upstream-ca: invalid PEM certificate.*; check/,
  ],
  ['an unknown command', ['rum'], /unknown command "rum"; did you mean run\?/],
  ['no command', [], /no command; start a sidecar with squall run/],
  [
    'a variable with a bad value',
    ['run'],
    /SQUALL_MAX_HEADER_SIZE: "plenty" is not a valid size; use/,
    { SQUALL_MAX_HEADER_SIZE: 'plenty' },
  ],
]

test.each(misuses)(
  '%s ends the start with one line and exit code 2',
  async (_what, args, says, env = {}) => {
    const ended = await startProgram(args, env, { here: true })
    expect(ended.stderr).toMatch(/^squall: [^\n]+\n$/)
    expect(ended.stderr).toMatch(says)
    expect(ended.stdout).toBe('')
    expect(ended.code).toBe(2)
  },
)

const installed = join(directory, 'squall')
symlinkSync(fileURLToPath(new URL('../../bin/squall.cjs', import.meta.url)), installed)
const path = `${directory}:${process.env['PATH']}`

const LAUNCHES: readonly [string, string, string, Record<string, string>][] = [
  ['node starts it, as in a clone', process.execPath, 'npx mcp-squall', {}],
  ['npx starts it', installed, 'npx mcp-squall', { PATH: path, npm_command: 'exec' }],
  ['the shell finds it', installed, 'squall', { PATH: path }],
  ['its directory is not in the path', installed, 'npx mcp-squall', {}],
]

/** Runs the program as a launch does. */
function launched(program: string, env: Record<string, string>, args: string[]): Promise<Finished> {
  const file = program === installed ? [] : [installed]
  return startProgram([...file, ...args], env, { program }).finished()
}

test.concurrent.each(LAUNCHES)(
  'a hint prints a command that works where %s',
  async (_where, program, command, env) => {
    const none = await launched(program, env, [])
    expect(none.stderr).toBe(
      `squall: no command; start a sidecar with ${command} run, or see ${command} --help\n`,
    )
    expect(none.code).toBe(2)
  },
)

test.concurrent.each(LAUNCHES.slice(1, 3))(
  'results and the help print a command that works where %s',
  async (_where, program, command, env) => {
    const [checked, help] = await Promise.all([
      launched(program, env, ['check', '--rules', join(directory, 'none.yaml')]),
      launched(program, env, ['load', 'report', '--help']),
    ])
    expect(checked.stdout).toContain(
      `\n    check again with ${command} validate ${directory}/none.yaml\n`,
    )
    expect(help.stdout).toContain(`\nExamples:\n  ${command} load report `)
  },
)

test('the program itself ends so, whether by a flag or by a variable', async () => {
  const few = misuses.filter(([what]) => /unknown flag|variable/.test(what))
  expect(few).toHaveLength(2)
  const all = few.map(([, args, says, env = {}]) => [says, startProgram(args, env)] as const)
  for (const [says, program] of all) {
    const ended = await program.finished()
    expect(ended).toMatchObject({ stdout: '', code: 2 })
    expect(ended.stderr).toMatch(/^squall: [^\n]+\n$/)
    expect(ended.stderr).toMatch(says)
  }
})

test.each([
  ['--listen', ['--admin', 'off']],
  ['--admin', ['--listen', '127.0.0.1:0']],
])('a port in use for %s ends the start with one line and exit code 2', async (flag, others) => {
  const { port } = opened(await startUpstream(createServer()))
  const ended = await startProgram([
    'run',
    flag,
    `127.0.0.1:${port}`,
    ...others,
    ...UPSTREAM,
  ]).finished()
  expect(ended.stderr).toBe(
    `squall: cannot listen on 127.0.0.1:${port}: it is in use; stop the process that listens there or choose another address\n`,
  )
  expect(ended.stdout).toBe('')
  expect(ended.code).toBe(2)
})

let another: Program | undefined
afterAll(() => another?.kill())

test.each([
  ['run', '--listen'],
  ['run', '--admin'],
  ['stdio', '--admin'],
])('squall %s %s at an address of a Squall names it, and its pid', async (command, flag) => {
  another ??= startProgram(['run', ...ANYWHERE])
  const admin = portOf(await another.logged('admin listening'))
  const listen = portOf(await another.logged('listening'))
  const taken = flag === '--listen' ? listen : admin
  const rest = command === 'run' ? UPSTREAM : ['--', 'true']
  const flags = ['--admin', `127.0.0.1:${admin}`, flag, `127.0.0.1:${taken}`]
  const { code, stderr } = await startProgram([command, ...flags, ...rest]).finished()
  expect(stderr).toContain(
    `squall: cannot listen on 127.0.0.1:${taken}: it is in use: Squall (pid ${another.child.pid}) uses the admin port 127.0.0.1:${admin}; if that process also uses this address, stop it with kill ${another.child.pid}, or choose another address\n`,
  )
  expect(code).toBe(2)
})

test.concurrent.each([
  [['--help'], /^Usage: squall /],
  [['run', '--help'], /--drain-timeout <duration>/],
  [['--version'], /^\d+\.\d+\.\d+\n$/],
])('%s prints to standard output and exits 0', async (args, prints) => {
  const ended = await startProgram(args).finished()
  expect(ended.stdout).toMatch(prints)
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
})

describe('a start', () => {
  test('shows the bound address first and that of the admin port second', async ({ annotate }) => {
    const began = performance.now()
    const program = start('--ready-without-upstream')
    const { address } = await program.logged('admin listening')
    const ready = await fetch(`http://${String(address)}/readyz`)
    const took = performance.now() - began
    await annotate(`start to ready: ${took.toFixed(0)} ms`)
    expect(ready.status).toBe(200)
    expect(program.lines.slice(0, 2)).toEqual([
      {
        level: 'info',
        time: expect.any(String) as unknown,
        msg: 'listening',
        address: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/) as unknown,
        upstream: 'http://127.0.0.1:9',
        url: `http://${String(program.lines[0]!['address'])}/`,
      },
      {
        level: 'info',
        time: expect.any(String) as unknown,
        msg: 'admin listening',
        address: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/) as unknown,
        page: `http://${String(address)}/`,
      },
    ])
    expect(program.lines[0]!['address']).not.toBe(address)
    expect(program.stderr()).toBe('')
  })

  test('warns people when the upstream does not accept connections', async () => {
    const program = start('--log-format', 'pretty')
    while (!program.stdout().includes('calls fail')) await once(program.child.stdout!, 'data')
    expect(program.stdout()).toMatch(
      /WARN {2}calls fail until the upstream is up reason="http:\/\/127\.0\.0\.1:9 does not accept connections"\n/,
    )
  })

  test('logs as JSON that the upstream does not accept connections', async () => {
    const program = start()
    expect(await program.logged('calls fail until the upstream is up')).toMatchObject({
      level: 'info',
      reason: 'http://127.0.0.1:9 does not accept connections',
    })
  })

  test('takes its flags from the environment, and the command line wins', async () => {
    const program = startProgram(['run', '--admin', 'off'], {
      SQUALL_LISTEN: '127.0.0.1:0, 127.0.0.1:0',
      SQUALL_UPSTREAM: 'http://127.0.0.1:9,http://127.0.0.1:10',
      SQUALL_ADMIN: 'nonsense',
    })
    opened({ close: () => program.kill() })
    await program.logged('listening')
    while (program.lines.length < 2) await once(program.child.stdout!, 'data')
    expect(program.lines.slice(0, 2).map((line) => line['upstream'])).toEqual([
      'http://127.0.0.1:9',
      'http://127.0.0.1:10',
    ])
  })

  test('shows people the position of each error in the rules, and the path of a missing file', async () => {
    const file = join(directory, 'shown.yaml')
    const program = start('--log-format', 'pretty', '--rules', file)
    const logged = async (text: string): Promise<void> => {
      while (!program.stdout().includes(text)) await once(program.child.stdout!, 'data')
    }
    await logged('admin listening')
    expect(program.stdout()).toMatch(
      /WARN {2}no rules; only temporary faults act digest=[0-9a-f]{8} /,
    )
    expect(program.stdout()).toContain(` path=${file} reason="no such file"\n`)
    writeFileSync(file, 'rules:\n  - name: slow\n    faults: [delay: 2s]\n')
    await logged('^\n')
    expect(program.stdout()).toMatch(
      /the rules are invalid; only temporary faults act digest=[0-9a-f]{8} /,
    )
    expect(program.stdout()).toContain(
      `  ${file}:3:21: rules[0].faults[0].delay: must be an object; got "2s"; write \`- delay: { fixed: 2s }\`
    3 |     faults: [delay: 2s]
      |                     ^
`,
    )
  })

  test('logs for people with --log-format pretty', async () => {
    const program = start('--log-format', 'pretty')
    while (!program.stdout().includes('admin listening')) await once(program.child.stdout!, 'data')
    expect(program.stdout()).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening address=127\.0\.0\.1:\d+ upstream=http:\/\/127\.0\.0\.1:9 url=http:\/\/127\.0\.0\.1:\d+\/\n/,
    )
    expect(program.lines).toEqual([])
  })
})

test.runIf(existsSync('/dev/full'))('a command whose output is lost fails', () => {
  for (const args of [['schema'], ['completion', 'bash'], ['experiment', 'catalog']]) {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(process.execPath, [BIN, ...args], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    closeSync(full)
    expect(stderr).toBe('squall: standard output cannot be written (ENOSPC)\n')
    expect(status).toBe(1)
  }
})

// A full disk with the log of a sidecar ended the sidecar, and all traffic with it.
test.runIf(existsSync('/dev/full'))('a sidecar whose log is lost carries traffic on', async () => {
  const admin = `127.0.0.1:${await freePort()}`
  const run = ['run', '--listen', '127.0.0.1:0', '--admin', admin, ...UPSTREAM]
  const shell = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, BIN, ...run]
  const program = startProgram(shell, {}, { program: '/bin/sh' })
  opened({ close: () => program.kill() })
  await eventually(async () => {
    const response = await fetch(`http://${admin}/livez`).catch(() => undefined)
    return response?.ok === true ? undefined : program.stderr() || 'it does not listen'
  })
  program.signal('SIGTERM')
  expect(await program.finished()).toMatchObject({ code: 0, stderr: '' })
})

test.runIf(existsSync('/dev/full'))('squall stdio fails when its output is lost', async () => {
  const stdio = [process.execPath, BIN, 'stdio', '--', 'echo', '{}']
  const shell = ['-c', 'exec "$0" "$@" > /dev/full', ...stdio]
  const { code, stderr } = await startProgram(shell, {}, { program: '/bin/sh' }).finished()
  expect(stderr).toContain('"why":"ENOSPC","msg":"standard output cannot be written"')
  expect(code).toBe(1)
})
