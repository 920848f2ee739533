import { cp, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProgram } from '../support/program.ts'

const WATCHER = fileURLToPath(new URL('../support/watch-scripts.cjs', import.meta.url))
const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const RULE = '{ name: a, match: { tool: b }, faults: [delay: { fixed: 1ms }] }'
const RULES = `rules: [${RULE}]\n`
/** The flags of the image. */
const IMAGE = '--max-semi-space-size=2'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-start-'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

interface Watched {
  readonly compiled: readonly string[]
  readonly fromCache: readonly string[]
  readonly flags: readonly string[]
}

/** What a start with rules did, an edit of them included. */
async function watchedStart(name: string, nodeOptions: string): Promise<Watched> {
  const file = join(directory, name)
  const rules = join(directory, `${name}.yaml`)
  await writeFile(rules, RULES)
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', rules]
  const program = startProgram(['run', ...places], {
    NODE_OPTIONS: `${nodeOptions} --require=${WATCHER}`,
    WATCHED: file,
  })
  await program.logged('admin listening')
  const edited = new Promise<void>((resolve) => {
    program.child.stdout?.on('data', () => {
      if (program.lines.some(({ generation }) => generation === 2)) resolve()
    })
  })
  await writeFile(rules, RULES.replace('1ms', '2ms'))
  await edited
  program.signal('SIGTERM')
  await program.ended
  const lines = (await readFile(file, 'utf8')).split('\n')
  const after = (start: string): string[] =>
    lines.flatMap((line) => (line.startsWith(start) ? [line.slice(start.length)] : []))
  return {
    compiled: [...after('cache refused '), ...after('cache none ')],
    fromCache: after('cache taken '),
    flags: after('flag '),
  }
}

describe('squall run', () => {
  it.concurrent('takes all that it loads from the cache, with the flags of the image', async () => {
    const { compiled, fromCache } = await watchedStart('image', IMAGE)
    expect(compiled).toEqual([])
    expect(fromCache).toContain('squall.js')
    expect(fromCache.length).toBeGreaterThan(5)
  })

  it.concurrent('starts without the cache where V8 has other flags', async () => {
    const { compiled, fromCache } = await watchedStart('other', '--interpreted-frames-native-stack')
    expect(fromCache).toEqual([])
    expect(compiled).toContain('squall.js')
  })

  it.concurrent('lets V8 optimize everything but the first reading of the rules', async () => {
    const { flags } = await watchedStart('flags', IMAGE)
    expect(flags.filter((flag) => flag.includes('opt'))).toEqual(['--no-opt', '--opt'])
  })
})

describe('from the cache', () => {
  it.concurrent('rules that have a thread of their own become active', async () => {
    const rules = join(directory, 'many.yaml')
    const many = Array.from({ length: 300 }, (_, n) => RULE.replace('name: a', `name: a${n}`))
    await writeFile(rules, `rules: [${many.join(', ')}]\n`)
    const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', rules]
    const program = startProgram(['run', ...places], { NODE_OPTIONS: IMAGE })
    expect(await program.logged('active rules')).toMatchObject({ rules: 300 })
    program.signal('SIGTERM')
    await program.ended
    expect(program.stderr()).toBe('')
  })
})

describe('a program whose cache is damaged', () => {
  it('starts all the same', async () => {
    const program = join(directory, 'program')
    await cp(join(PROJECT, 'dist'), join(program, 'dist'), { recursive: true })
    await cp(join(PROJECT, 'package.json'), join(program, 'package.json'))
    await symlink(join(PROJECT, 'node_modules'), join(program, 'node_modules'))
    const caches = join(program, 'dist/code-cache')
    const [made] = await readdir(caches)
    const cache = join(caches, made!)
    const version = async (): Promise<string> => {
      const args = [IMAGE, join(program, 'dist/cli/main.js'), '--version']
      return (await promisify(execFile)(process.execPath, args)).stdout
    }
    const expected = await version()
    expect(expected).toMatch(/\d+\.\d+\.\d+/)
    const damages: ((file: string) => Promise<void>)[] = [
      (file) => truncate(file, 1_000),
      (file) => truncate(file, 0),
      (file) => writeFile(file, 'something else, and longer than what V8 looks at first of all'),
      (file) => rm(file),
    ]
    for (const damage of damages) {
      for (const file of await readdir(cache)) await damage(join(cache, file))
      expect(await version()).toBe(expected)
    }
  })
})
