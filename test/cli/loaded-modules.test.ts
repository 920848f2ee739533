// part: slow
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProgram } from '../support/commands.ts'

const LISTER = new URL('./list-modules.mjs', import.meta.url)
const RULES = 'rules: [{ name: a, match: { tool: b }, faults: [delay: { fixed: 1ms }] }]\n'
const HERE = fileURLToPath(new URL('../../', import.meta.url))

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-loaded-'))
  contents = JSON.parse(await readFile(join(HERE, 'build/js/chunks.json'), 'utf8'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

/** The modules that the build put into each file of the program. */
let contents: Readonly<Record<string, readonly string[]>>

/** Returns the modules that a program has loaded when it ends, as below. */
async function loadedAtEnd(name: string, args: readonly string[]): Promise<Set<string>> {
  const list = join(directory, name)
  const program = startProgram(args, {
    NODE_OPTIONS: `--import=${LISTER.href}`,
    LOADED_MODULES: list,
  })
  await program.ended
  return namesIn(list)
}

/**
 * The modules that `squall run` has loaded when it takes traffic: packages and Node's modules by
 * name, own files by path.
 */
async function loadedBy(name: string, ...flags: readonly string[]): Promise<Set<string>> {
  const list = join(directory, name)
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', ...flags]
  const program = startProgram(['run', ...places], {
    NODE_OPTIONS: `--import=${LISTER.href}`,
    LOADED_MODULES: list,
  })
  await program.logged('admin listening')
  program.signal('SIGTERM')
  await program.ended
  return namesIn(list)
}

async function namesIn(list: string): Promise<Set<string>> {
  const lines = (await readFile(list, 'utf8')).split('\n')
  return new Set(lines.flatMap(modulesOf).map(nameOf))
}

function modulesOf(loaded: string): readonly string[] {
  const path = loaded.replace(/^file:\/\//, '')
  return contents[path.replace(`${HERE}dist/`, '')] ?? [path]
}

function nameOf(path: string): string {
  const ofPackage = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
  return ofPackage ?? path.replace(/^build\/js\//, '')
}

it.concurrent.each(['--help', '--version'])(
  'squall %s loads no command and no parser',
  async (flag) => {
    const loaded = await loadedAtEnd(flag, [flag])
    expect(loaded).toContain('src/cli/squall.js')
    const needless = [
      'commander',
      'src/cli/commands/index.js',
      'src/cli/commands/run.js',
      'src/base/flags/flag.js',
    ]
    expect(needless.filter((name) => loaded.has(name))).toEqual([])
  },
)

it('squall --help prints what the parser of all commands would', async () => {
  const { stdout } = await startProgram(['--help']).finished()
  expect(stdout).toBe((await startProgram(['help']).finished()).stdout)
})

describe('squall run', () => {
  it.concurrent(
    'loads nothing without rules that only rules, upgrades, odd responses or other commands need',
    async () => {
      const loaded = await loadedBy('without', '--engine', 'fast')
      expect(loaded).toContain('src/sidecar/assemble.js')
      const needless = [
        'ajv',
        'yaml',
        'http-proxy',
        'undici',
        'loaded:http2',
        'src/cli/commands/index.js',
        'src/sidecar/rules-engine.js',
        'src/filters/index.js',
        'build/checks/rules.js',
        'src/rules/file/parse.js',
        'src/rules/select/plan.js',
        'src/rules/watch/rules-watcher.js',
        'src/telemetry/spans.js',
        '@opentelemetry/sdk-trace',
      ].filter((name) => loaded.has(name))
      expect(needless).toEqual([])
    },
  )

  it.concurrent('loads undici at the start where every call goes through it', async () => {
    const loaded = await loadedBy('standard', '--engine', 'standard')
    expect(loaded).toContain('undici')
    expect(loaded).not.toContain('http-proxy')
  })

  it.concurrent('loads what reads them where there are rules', async () => {
    const rules = join(directory, 'rules.yaml')
    await writeFile(rules, RULES)
    const loaded = await loadedBy('with', '--rules', rules)
    for (const name of ['yaml', 'src/rules/file/parse.js', 'src/filters/delay.js']) {
      expect(loaded).toContain(name)
    }
    // The build compiled the schemas.
    expect(loaded).toContain('build/checks/rules.js')
    for (const name of ['ajv', 'build/checks/plan.js', 'build/checks/result.js']) {
      expect(loaded).not.toContain(name)
    }
  })
})

describe('squall pre-stop and wait-ready', () => {
  it.concurrent.each([
    ['pre-stop', ['--control', 'unix:/nowhere/squall.sock'], 'src/cli/commands/pre-stop.js'],
    ['wait-ready', ['--ready-wait', '0s'], 'src/cli/commands/wait-ready.js'],
  ])('load nothing of what serves traffic: %s', async (command, flags, own) => {
    const loaded = await loadedAtEnd(command, [command, ...flags])
    expect(loaded).toContain(own)
    const needless = [
      'pino',
      'prom-client',
      'src/sidecar/assemble.js',
      'src/listener/sidecar.js',
      'cli/demo.js',
    ]
    expect(needless.filter((name) => loaded.has(name))).toEqual([])
  })
})
