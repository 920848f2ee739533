import { spawnSync } from 'node:child_process'
import { mkdir, open, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { gist, Mount, ruleNamed, WatchBench } from '../watch-bench.ts'
import { rounds } from '../../support/rounds.ts'

const SWAPS = rounds(30, 1000)
/** The watcher waits longer for the rest of a file. */
const WAITS_MS = 40
const benches: WatchBench[] = []

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close()
})

async function start(...args: Parameters<typeof WatchBench.start>): Promise<WatchBench> {
  const bench = await WatchBench.start(...args)
  benches.push(bench)
  return bench
}

const written = (name: string) => (bench: WatchBench) => writeFile(bench.path, ruleNamed(name))

describe('a rules file', () => {
  it('is reported at the start, and again whenever another replaces it', async () => {
    const bench = await start(written('zero'))
    expect(bench.versions.map(gist)).toEqual(['zero'])
    for (let i = 1; i <= 20; i++) {
      await bench.move(ruleNamed(`rule-${i}`))
      await bench.told(`rule-${i}`)
    }
    expect(bench.versions.length).toBe(21)
  })

  it('is reported when it is written in place', async () => {
    const bench = await start(written('zero'))
    let hasPaused = false
    for (let i = 1; i <= 20; i++) {
      const begun = performance.now()
      await writeFile(bench.path, ruleNamed(`rule-${i}`))
      hasPaused ||= performance.now() - begun > WAITS_MS
      await bench.told(`rule-${i}`)
    }
    // It was empty for a moment each time, and nothing was logged.
    if (!hasPaused) expect(bench.versions.length).toBe(21)
  })

  it('is not reported as rejected while it is half written', async () => {
    const bench = await start(written('zero'))
    let hasPaused = false
    for (let i = 1; i <= 5; i++) {
      const text = ruleNamed(`rule-${i}`)
      const begun = performance.now()
      const file = await open(bench.path, 'w')
      await file.write(text.slice(0, 20))
      await new Promise((resolve) => setTimeout(resolve, 12))
      await file.write(text.slice(20))
      await file.close()
      // On a busy machine a file stays half written for longer than the watcher waits.
      hasPaused ||= performance.now() - begun > WAITS_MS
      await bench.told(`rule-${i}`)
    }
    if (!hasPaused) expect(bench.versions.map(gist)).not.toContain('rejected')
  })

  it('is not reported again when only its time changes', async () => {
    const bench = await start(written('zero'))
    await bench.move(ruleNamed('zero'))
    await writeFile(bench.path, ruleNamed('zero'))
    await bench.move(ruleNamed('one'))
    await bench.told('one')
    expect(bench.versions.map(gist)).toEqual(['zero', 'one'])
  })

  it('is reported when an editor keeps a backup of it', async () => {
    const bench = await start(written('zero'))
    for (let i = 1; i <= 10; i++) {
      await writeFile(bench.at('4913'), '')
      await unlink(bench.at('4913'))
      await writeFile(bench.at('.rules.yaml.swp'), 'swap')
      await rename(bench.path, `${bench.path}~`)
      await writeFile(bench.path, ruleNamed(`rule-${i}`))
      await unlink(`${bench.path}~`)
      await unlink(bench.at('.rules.yaml.swp'))
      await bench.told(`rule-${i}`)
    }
    expect(bench.versions.length).toBe(11)
  })

  it('is reported when sed edits it', async (context) => {
    const bench = await start(written('zero'))
    const { status } = spawnSync('sed', ['-i', 's/zero/one/', bench.path])
    if (status !== 0) context.skip()
    await bench.told('one')
  })

  it('is reported when it appears, goes, and comes back', async () => {
    const bench = await start()
    expect(bench.versions.map(gist)).toEqual(['absent: no such file'])
    await bench.move(ruleNamed('one'))
    await bench.told('one')
    await unlink(bench.path)
    await bench.told('absent: no such file')
    await writeFile(bench.path, ruleNamed('one'))
    await bench.told('one')
  })

  it('is reported when its directory appears, goes, and comes back', async () => {
    const bench = await start(undefined, {}, 'a/b/rules.yaml')
    for (const name of ['one', 'two', 'three']) {
      await bench.calm()
      await mkdir(dirname(bench.path), { recursive: true })
      await writeFile(bench.path, ruleNamed(name))
      await bench.told(name)
      await bench.calm()
      await rm(bench.at('a'), { recursive: true })
      await bench.told('absent: no such file')
    }
  })

  it('is reported when another directory replaces its own', async () => {
    const bench = await start(
      async ({ directory }) => {
        for (const name of ['now', 'next']) {
          await mkdir(join(directory, name))
          await writeFile(join(directory, name, 'rules.yaml'), ruleNamed(name))
        }
      },
      {},
      'now/rules.yaml',
    )
    await bench.calm()
    await rename(bench.at('now'), bench.at('before'))
    await rename(bench.at('next'), bench.at('now'))
    await bench.told('next')
    await bench.calm()
    await writeFile(bench.path, ruleNamed('last'))
    await bench.told('last')
  })

  it('is reported through links, wherever one of them is changed', async () => {
    const bench = await start(async ({ directory }) => {
      for (const name of ['one', 'two']) {
        await mkdir(join(directory, name))
        await writeFile(join(directory, name, 'real.yaml'), ruleNamed(name))
      }
      await symlink(join(directory, 'one'), join(directory, 'current'))
      await symlink('current/real.yaml', join(directory, 'rules.yaml'))
    })
    expect(bench.versions.map(gist)).toEqual(['one'])
    for (const name of ['two', 'one', 'two']) {
      await bench.calm()
      await symlink(name, bench.at('link'))
      await rename(bench.at('link'), bench.at('current'))
      await bench.told(name)
    }
    await bench.calm()
    await writeFile(bench.at('two', 'real.yaml'), ruleNamed('edited'))
    await bench.told('edited')
  })

  it('is never written', async () => {
    const text = `# why\r\n${ruleNamed('one').replaceAll('\n', '\r\n')}# end\r\n`
    const bench = await start()
    await new Mount(bench.directory).update({ 'rules.yaml': text })
    await bench.told('one')
    expect(await readFile(bench.path, 'utf8')).toBe(text)
  })
})

describe('a ConfigMap', () => {
  it('is reported at each swap, however many there were', { timeout: 60_000 }, async () => {
    const bench = await start()
    const mount = new Mount(bench.directory)
    for (let i = 1; i <= SWAPS; i++) {
      if (i % 20 === 0) await bench.calm()
      await mount.update({ 'rules.yaml': ruleNamed(`rule-${i}`) })
      await bench.told(`rule-${i}`)
    }
    expect(bench.versions.length).toBe(SWAPS + 1)
    expect(bench.troubles).toEqual([])
  })

  it('is reported as a directory, with its keys coming and going', async () => {
    const bench = await start(undefined, {}, 'mounted')
    const mount = new Mount(bench.path)
    await mount.update({ 'a.yaml': ruleNamed('a') })
    await bench.told('a')
    await mount.update({ 'b.yml': ruleNamed('b'), 'a.yaml': ruleNamed('a') })
    await bench.told('a+b')
    await mount.update({ 'b.yml': ruleNamed('c') })
    await bench.told('c')
    await mount.forget('a.yaml')
    await mount.update({ 'b.yml': ruleNamed('d') })
    await bench.told('d')
  })
})
