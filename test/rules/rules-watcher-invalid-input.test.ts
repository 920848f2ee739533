import { spawnSync } from 'node:child_process'
import { chmod, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Arming } from '../../src/rules/guard/arming.ts'
import { MAX_FILE_BYTES } from '../../src/rules/file/parse.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { eventually } from '../support/eventually.ts'
import { Random } from '../support/random.ts'
import { gist, ruleNamed, WatchBench } from './watch-bench.ts'
import { rounds } from '../support/rounds.ts'
import { startUpstream } from '../support/wire.ts'

const ROUNDS = rounds(6, 50)
const benches: WatchBench[] = []

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close()
})

async function start(...args: Parameters<typeof WatchBench.start>): Promise<WatchBench> {
  const bench = await WatchBench.start(...args)
  benches.push(bench)
  return bench
}

type Prepare = (bench: WatchBench) => Promise<unknown>

const make = (command: string, ...args: readonly string[]): Prepare => {
  return async ({ path }) => void spawnSync(command, [path, ...args])
}

describe('what is no rules file', () => {
  it.each<[string, string, Prepare]>([
    ['a missing file', 'no such file', async () => undefined],
    [
      'a missing directory',
      'no such file',
      async ({ directory }) => rm(directory, { recursive: true }),
    ],
    ['an empty file', 'the file is empty', ({ path }) => writeFile(path, '')],
    [
      'comments',
      'the file contains only comments',
      ({ path }) => writeFile(path, '\uFEFF---\r\n# a\r\n\t \r\n#b'),
    ],
    [
      'a link that leads nowhere',
      'the link points to a file that does not exist',
      ({ path }) => symlink('nowhere', path),
    ],
    ['an empty directory', 'the directory has no rules file', ({ path }) => mkdir(path)],
  ])('%s means that there are no rules', async (_, reason, prepare) => {
    const bench = await start(prepare)
    expect(bench.last).toMatchObject({ kind: 'absent', reason })
    expect(bench.versions.length).toBe(1)
  })

  it.each<[string, string, Prepare]>([
    [
      'a link to itself',
      'cannot be read: its symbolic links form a loop',
      ({ path }) => symlink('rules.yaml', path),
    ],
    ['a named pipe', 'must be a file; got a named pipe', make('mkfifo')],
    ['a device', 'must be a file; got a device', ({ path }) => symlink('/dev/zero', path)],
    [
      'too much',
      'a rules file must have at most 1 MiB',
      ({ path }) => writeFile(path, '#'.repeat(MAX_FILE_BYTES + 1)),
    ],
    [
      '10 MiB',
      'a rules file must have at most 1 MiB',
      ({ path }) => writeFile(path, Buffer.alloc(10 * MAX_FILE_BYTES, '[')),
    ],
    [
      'no text',
      'a rules file must be text in UTF-8',
      ({ path }) => writeFile(path, Buffer.from([0xff, 0xfe])),
    ],
    [
      'tabs',
      'a tab cannot indent YAML; use spaces',
      ({ path }) => writeFile(path, 'rules:\n\t- name: a\n'),
    ],
  ])('%s is refused', async (_, message, prepare) => {
    const bench = await start(prepare)
    expect(bench.last).toMatchObject({
      kind: 'rejected',
      problems: [{ file: bench.path, problems: [{ message }] }],
    })
    expect(bench.versions.length).toBe(1)
    await rm(bench.path)
    await writeFile(bench.path, ruleNamed('good'))
    await bench.told('good')
  })

  it('is refused while nobody may read it', async (context) => {
    if (process.getuid?.() === 0) context.skip()
    const bench = await start(({ path }) => writeFile(path, ruleNamed('one')))
    await chmod(bench.path, 0)
    await bench.told('rejected')
    expect(bench.last).toMatchObject({
      problems: [{ problems: [{ message: 'cannot be read: permission denied' }] }],
    })
    await chmod(bench.path, 0o600)
    await bench.told('one')
  })

  it('is rejected when a socket replaces it', async () => {
    const bench = await start()
    const server = await startUpstream(createServer(), { path: bench.path })
    await bench.told('rejected')
    expect(bench.last).toMatchObject({
      problems: [{ problems: [{ message: 'must be a file; got a socket' }] }],
    })
    await server.close()
    await bench.told('absent: no such file')
  })

  it('is refused with its name when it is one of a directory', async () => {
    const bench = await start(
      async ({ path }) => {
        await mkdir(join(path, 'b.yaml'), { recursive: true })
        await writeFile(join(path, 'a.yaml'), 'rulez: []')
        await symlink('nowhere', join(path, 'c.yaml'))
        spawnSync('mkfifo', [join(path, 'd.yaml')])
      },
      {},
      'rules',
    )
    expect(bench.last).toMatchObject({
      problems: [
        {
          file: join(bench.path, 'b.yaml'),
          problems: [{ message: 'must be a file; got a directory' }],
        },
        {
          file: join(bench.path, 'd.yaml'),
          problems: [{ message: 'must be a file; got a named pipe' }],
        },
        { file: join(bench.path, 'a.yaml'), problems: [{ code: 'unknown_key' }] },
      ],
    })
  })

  it('is refused when the files of a directory are too much together', async () => {
    const bench = await start(
      async ({ path }) => {
        await mkdir(path)
        for (const name of ['a.yaml', 'b.yaml']) {
          await writeFile(join(path, name), `${ruleNamed('x')}${'#'.repeat(600 * 1024)}`)
        }
      },
      {},
      'rules',
    )
    expect(bench.last).toMatchObject({
      problems: [{ file: join(bench.path, 'b.yaml'), problems: [{ code: 'too_large' }] }],
    })
  })

  it('is refused when there are too many files', async () => {
    const bench = await start(
      async ({ path }) => {
        await mkdir(path)
        for (let i = 0; i < 257; i++) await writeFile(join(path, `${i}.yaml`), '')
      },
      {},
      'rules',
    )
    expect(bench.last).toMatchObject({ problems: [{ problems: [{ code: 'too_many' }] }] })
    await unlink(join(bench.path, '0.yaml'))
    await bench.told('absent: the rules files of the directory are empty')
  })
})

describe('a storm of versions', () => {
  it('leaves the last good active one', { timeout: 120_000 }, async () => {
    const random = new Random(11)
    const clock = (): number => Date.now()
    const states = new RuleStates()
    const arming = new Arming(states, clock)
    const isActive = new ActiveRules({ states, arming, limits: {}, clock })
    const bench = await start(({ path }) => writeFile(path, ruleNamed('start')))
    let taken = 0
    const names = (): string => isActive.ruleSet.rules.map(({ name }) => name).join('+')
    const feed = (): void => {
      while (taken < bench.versions.length) isActive.take(bench.versions[taken++]!)
    }
    const replace = async (prepare: (path: string) => Promise<unknown>): Promise<void> => {
      await rm(bench.at('next'), { recursive: true, force: true })
      await prepare(bench.at('next'))
      await rename(bench.at('next'), bench.path).catch(async () => {
        await rm(bench.path, { recursive: true, force: true })
        await rename(bench.at('next'), bench.path)
      })
    }
    const bad: readonly ((path: string) => Promise<unknown>)[] = [
      (path) => writeFile(path, 'rulez: []'),
      (path) => writeFile(path, ruleNamed('cut').slice(0, -5)),
      (path) => writeFile(path, 'x'.repeat(MAX_FILE_BYTES + 1)),
      (path) => symlink('rules.yaml', path),
    ]
    const any: readonly ((path: string) => Promise<unknown>)[] = [
      ...bad,
      (path) => writeFile(path, ''),
      (path) => symlink('nowhere', path),
      (path) => mkdir(path),
      (path) => writeFile(path, ruleNamed(`rule-${random.int(0, 1e6)}`)),
    ]
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < 18; i++) {
        await replace(random.pick(any))
        if (random.chance(0.2)) await unlink(bench.path).catch(() => undefined)
      }
      const good = `good-${round}`
      await replace((path) => writeFile(path, ruleNamed(good)))
      await bench.told(good)
      feed()
      expect(names()).toBe(good)
      await replace(random.pick(bad))
      await bench.told('rejected')
      feed()
      expect(names()).toBe(good)
      expect(isActive.last?.version.kind).toBe('rejected')
    }
    await unlink(bench.path)
    await eventually(() => {
      feed()
      return names() === '' ? undefined : `${names()} is still active`
    })
    expect(gist(bench.last!)).toBe('absent: no such file')
    expect(bench.troubles).toEqual([])
  })
})
