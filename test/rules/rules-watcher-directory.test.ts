import { copyFile, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { gist, ruleNamed, WatchBench } from './watch-bench.ts'

const benches: WatchBench[] = []

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close()
})

async function start(...args: Parameters<typeof WatchBench.start>): Promise<WatchBench> {
  const bench = await WatchBench.start(...args)
  benches.push(bench)
  return bench
}

describe('a directory', () => {
  const files = (texts: Readonly<Record<string, string>>) => async (bench: WatchBench) => {
    await mkdir(bench.path)
    for (const [name, text] of Object.entries(texts)) {
      await writeFile(join(bench.path, name), text)
    }
  }

  it('is one set of rules, in the order of the names', async () => {
    const bench = await start(
      files({
        'b.yaml': `seed: 7\n${ruleNamed('b')}`,
        'a.yml': ruleNamed('a'),
        'c.json': JSON.stringify({
          maxActive: 3,
          rules: [{ name: 'c', faults: [{ delay: { fixed: '1s' } }] }],
        }),
        'empty.yaml': '# nothing\n',
        '.hidden.yaml': ruleNamed('hidden'),
        'b.yaml~': ruleNamed('backup'),
        '#b.yaml#': ruleNamed('draft'),
        'notes.txt': 'not rules',
      }),
      {},
      'rules',
    )
    expect(bench.versions.map(gist)).toEqual(['a+b+c'])
    expect(bench.last).toMatchObject({ file: { version: 1, seed: 7, maxActive: 3, enabled: true } })
    await bench.move(ruleNamed('d'), join(bench.path, 'd.yaml'))
    await bench.told('a+b+c+d')
    await unlink(join(bench.path, 'a.yml'))
    await bench.told('b+c+d')
    await rm(bench.path, { recursive: true })
    await bench.told('absent: no such file')
    await files({ 'x.yaml': ruleNamed('x') })(bench)
    await bench.told('x')
  })

  it('is reported when a link leads to another one, and when links in it do', async () => {
    const bench = await start(
      async ({ directory }) => {
        for (const name of ['one', 'two', 'other']) {
          await mkdir(join(directory, name))
          await writeFile(join(directory, name, 'a.yaml'), ruleNamed(name))
        }
        await symlink('../other/a.yaml', join(directory, 'two', 'b.yaml'))
        await symlink('one', join(directory, 'rules'))
      },
      {},
      'rules',
    )
    expect(bench.versions.map(gist)).toEqual(['one'])
    await bench.calm()
    await symlink('two', bench.at('link'))
    await rename(bench.at('link'), bench.path)
    await bench.told('two+other')
    await bench.calm()
    await writeFile(bench.at('other', 'a.yaml'), ruleNamed('edited'))
    await bench.told('two+edited')
  })

  it('names the file of each error', async () => {
    const bench = await start(
      files({
        'a.yaml': `seed: 1\nenabled: true\n${ruleNamed('same')}`,
        'b.yaml': `seed: 1\n${ruleNamed('same')}`,
        'c.yaml': `maxActive: 1\nenabled: false\n`,
      }),
      {},
      'rules',
    )
    expect(bench.last).toMatchObject({
      kind: 'rejected',
      problems: [
        {
          file: join(bench.path, 'b.yaml'),
          problems: [
            { code: 'conflict', path: 'seed', line: 1, column: 1 },
            { code: 'duplicate_name', path: 'rules[0].name', line: 3, column: 11 },
          ],
        },
        {
          file: join(bench.path, 'c.yaml'),
          problems: [{ code: 'conflict', path: 'enabled', line: 2, column: 1 }],
        },
      ],
    })
    await writeFile(join(bench.path, 'b.yaml'), 'rulez: []')
    await writeFile(join(bench.path, 'c.yaml'), '\tno')
    const version = await bench.until(
      (each) => each.kind === 'rejected' && each.problems[1]?.problems[0]?.code === 'syntax',
    )
    expect(version).toMatchObject({
      problems: [
        { file: join(bench.path, 'b.yaml'), problems: [{ code: 'unknown_key', line: 1 }] },
        { file: join(bench.path, 'c.yaml') },
      ],
    })
  })

  it('without rules has no rules', async () => {
    const bench = await start(files({ 'readme.md': 'hello' }), {}, 'rules')
    expect(bench.versions.map(gist)).toEqual(['absent: the directory has no rules file'])
    await writeFile(join(bench.path, 'a.yaml'), '# soon')
    await bench.told('absent: the rules files of the directory are empty')
    await copyFile(join(bench.path, 'readme.md'), join(bench.path, 'b.yaml'))
    await bench.told('rejected')
  })
})
