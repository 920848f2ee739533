import fs from 'node:fs'
import { readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, describe, expect, it } from 'vitest'
import { Arming } from '../../src/rules/guard/arming.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { eventually } from '../support/eventually.ts'
import { Mount, ruleNamed, WatchBench } from './watch-bench.ts'
import { rounds } from '../support/rounds.ts'

const CHANGES = rounds(20, 100)
const benches: WatchBench[] = []
const { watch } = fs

afterEach(async () => {
  fs.watch = watch
  syncBuiltinESMExports()
  for (const bench of benches.splice(0)) await bench.close()
})

async function start(...args: Parameters<typeof WatchBench.start>): Promise<WatchBench> {
  const bench = await WatchBench.start(...args)
  benches.push(bench)
  return bench
}

const written = (name: string) => (bench: WatchBench) => writeFile(bench.path, ruleNamed(name))

/** All inotify watches of the process, and all files that it has open. */
async function openThings(): Promise<{ watches: number; files: number }> {
  let watches = 0
  const names = await readdir('/proc/self/fd')
  for (const name of names) {
    const target = await readlink(`/proc/self/fd/${name}`).catch(() => '')
    if (!target.includes('inotify')) continue
    const info = await fs.promises.readFile(`/proc/self/fdinfo/${name}`, 'utf8')
    watches += info.split('\n').filter((line) => line.startsWith('inotify')).length
  }
  return { watches, files: names.length }
}

describe('watching', () => {
  it('continues by polling where there are no events', async () => {
    const bench = await start(written('zero'), { events: false, pollMs: 20 })
    for (const name of ['one', 'two']) {
      await bench.move(ruleNamed(name))
      await bench.told(name)
    }
    await rm(bench.path)
    await bench.told('absent: no such file')
  })

  it('continues by polling when it fails, logs that once, and recovers', async () => {
    fs.watch = () => {
      throw Object.assign(new Error('limit of watches'), { code: 'ENOSPC' })
    }
    syncBuiltinESMExports()
    const bench = await start(written('zero'), { pollMs: 20 })
    for (const name of ['one', 'two', 'three']) {
      await bench.move(ruleNamed(name))
      await bench.told(name)
    }
    expect(bench.troubles).toEqual(['the rules cannot be watched; they are polled (ENOSPC)'])
    const before = await openThings()
    fs.watch = watch
    syncBuiltinESMExports()
    await eventually(async () =>
      (await openThings()).watches > before.watches ? undefined : 'nothing is watched',
    )
    expect(bench.troubles.length).toBe(1)
  })

  it('reports a version that cannot be activated, and continues', async () => {
    const bench = await start(written('zero'))
    bench.versions.push = () => {
      throw new Error('full')
    }
    await bench.move(ruleNamed('one'))
    await eventually(() => (bench.troubles.length > 0 ? undefined : 'no trouble was told'))
    expect(bench.troubles).toEqual(['the rules could not be loaded (full)'])
    Reflect.deleteProperty(bench.versions, 'push')
    await bench.move(ruleNamed('two'))
    await bench.told('two')
  })

  it('leaves nothing behind, however often it is swapped and closed', async () => {
    const first = await start(written('zero'))
    await first.close()
    const before = await openThings()
    for (let round = 0; round < rounds(4, 10); round++) {
      const bench = await start()
      const mount = new Mount(bench.directory)
      for (let i = 0; i < 10; i++) {
        await mount.update({ 'rules.yaml': ruleNamed(`rule-${i}`) })
        await bench.told(`rule-${i}`)
      }
      // The mount, and what its link leads to.
      const { watches } = await openThings()
      expect(watches).toBeLessThanOrEqual(before.watches + 3)
      await bench.close()
    }
    await eventually(async () => {
      const now = await openThings()
      return now.watches <= before.watches && now.files <= before.files
        ? undefined
        : `${JSON.stringify(now)} is open, and not ${JSON.stringify(before)}`
    })
  })

  it('leaves nothing behind when it is closed at any moment', async () => {
    const first = await start(written('zero'))
    await first.close()
    const before = await openThings()
    for (let turn = 0; turn < 30; turn += rounds(2, 1)) {
      const bench = await WatchBench.start(written('zero'))
      await bench.move(ruleNamed('one'))
      await new Promise((resolve) => setTimeout(resolve, turn))
      const { length } = bench.versions
      const closing = bench.close()
      await bench.watcher.close()
      await closing
      expect(bench.versions.length).toBe(length)
    }
    await eventually(async () => {
      const now = await openThings()
      const left = process
        .getActiveResourcesInfo()
        .filter((kind) => /FSEvent|Stat|Worker/.test(kind))
      return now.watches <= before.watches && now.files <= before.files && left.length === 0
        ? undefined
        : `${JSON.stringify(now)} and ${left.join()} is open, not ${JSON.stringify(before)}`
    })
  })

  it('can be closed before it starts, and while it does', async () => {
    const bench = await start(written('zero'))
    const { RulesWatcher } = await import('../../src/rules/watch/rules-watcher.ts')
    const told: unknown[] = []
    const take = (each: unknown): void => void told.push(each)
    const never = new RulesWatcher(bench.path, {}, take, take)
    await never.close()
    await never.start()
    const once = new RulesWatcher(bench.path, {}, take, take)
    const starting = once.start()
    await once.close()
    await starting
    expect(told).toEqual([])
  })

  it('brings a change into force at once', async () => {
    const bench = await start(written('zero'))
    const clock = (): number => Date.now()
    const states = new RuleStates()
    const arming = new Arming(states, clock)
    const isActive = new ActiveRules({ states, arming, limits: {}, clock })
    const took: number[] = []
    for (let i = 0; i < CHANGES; i++) {
      await fs.promises.writeFile(bench.at('next'), ruleNamed(`rule-${i}`))
      const since = performance.now()
      fs.renameSync(bench.at('next'), bench.path)
      await bench.told(`rule-${i}`)
      isActive.take(bench.last!)
      expect(isActive.ruleSet.rules[0]?.name).toBe(`rule-${i}`)
      took.push(performance.now() - since)
    }
    took.sort((a, b) => a - b)
    const [median, most] = [took[CHANGES / 2]!, took.at(-1)!]
    console.log(`rename to effect: ${median.toFixed(1)} ms median, ${most.toFixed(1)} ms at most`)
    expect(median).toBeLessThan(250)
  })
})
