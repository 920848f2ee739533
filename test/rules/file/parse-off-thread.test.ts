// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  MAX_BETWEEN_CALLS,
  parseFound,
  parseWherever,
} from '../../../src/rules/file/rules-parser.ts'
import { readRules } from '../../../src/rules/file/rules-file.ts'
import type { FoundRules } from '../../../src/rules/file/rules-file.ts'
import { eventually } from '../../support/eventually.ts'
import { rounds } from '../../support/rounds.ts'
import { ruleNamed, WatchBench } from '../watch-bench.ts'

/** A thread can only run what was compiled, as the program does. */
const BUILT = new URL('../../../dist/rules/file/parse-worker.js', import.meta.url)

const never = new AbortController().signal
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-parse-'))
})

afterAll(() => rm(directory, { recursive: true }))

async function found(text: string): Promise<FoundRules> {
  const path = join(directory, 'rules.yaml')
  await writeFile(path, text)
  return await readRules(path)
}

function manyRules(count: number): string {
  const rules = Array.from(
    { length: count },
    (_, i) =>
      `  - name: rule-${i}\n    match: { tool: "tool_${i}_*" }\n    percent: 30\n    faults: [{ delay: { fixed: 2s } }]\n`,
  )
  return `seed: 42\nrules:\n${rules.join('')}`
}

/** Enough to be read in a thread. */
const MANY = 120
/** Enough to keep a thread busy for a while. */
const SLOW = rounds(500, 1200)

const threads = (): number =>
  process.getActiveResourcesInfo().filter((kind) => /Worker|MessagePort/.test(kind)).length

describe('a large text', () => {
  it.each([
    ['good', manyRules(MANY)],
    ['with mistakes', `${manyRules(MANY)}  - nam: x\n`],
    ['of strange keys', `${manyRules(MANY)}__proto__: 1\n`],
    ['of comments', `#${'-'.repeat(MAX_BETWEEN_CALLS)}\n`],
    [
      'with a key of the language itself',
      `${manyRules(MANY)}  - name: z\n    match: { args: { /a: { exact: { __proto__: { b: 1 } } } } }\n    faults: [{ delay: { fixed: 1s } }]\n`,
    ],
  ])('%s is the same from a thread as from here', async (_, text) => {
    const there = await found(text)
    const version = await parseWherever(there, never, BUILT)
    expect(version).toStrictEqual(parseFound(there))
    expect(Object.isFrozen(version)).toBe(true)
  })

  it('does not hold up anything else', async () => {
    const there = await found(manyRules(SLOW))
    const delay = performance.eventLoopUtilization()
    let longest = 0
    let before = performance.now()
    const ticks = setInterval(() => {
      longest = Math.max(longest, performance.now() - before)
      before = performance.now()
    }, 1)
    const since = performance.now()
    const version = await parseWherever(there, never, BUILT)
    const took = performance.now() - since
    clearInterval(ticks)
    const { utilization } = performance.eventLoopUtilization(delay)
    console.log(
      `${took.toFixed(0)} ms in a thread; here ${longest.toFixed(0)} ms at a time, ${(100 * utilization).toFixed(0)} % busy`,
    )
    expect(version?.kind).toBe('rules')
    expect(utilization).toBeLessThan(0.5)
  })

  it('leaves no thread behind', async () => {
    await parseWherever(await found(manyRules(MANY)), never, BUILT)
    await eventually(() => (threads() === 0 ? undefined : `${threads()} are left`))
  })

  it('is given up when it is aborted', async () => {
    const there = await found(manyRules(SLOW))
    const giveUp = new AbortController()
    const parsing = parseWherever(there, giveUp.signal, BUILT)
    setTimeout(() => giveUp.abort(), 20)
    expect(await parsing).toBe(undefined)
    expect(await parseWherever(there, giveUp.signal, BUILT)).toBe(undefined)
    await eventually(() => (threads() === 0 ? undefined : `${threads()} are left`))
  })

  it('is refused when its thread fails', async () => {
    const there = await found(manyRules(MANY))
    const broken = new URL(
      `data:text/javascript,${encodeURIComponent('throw new Error("broken")')}`,
    )
    expect(await parseWherever(there, never, broken)).toMatchObject({
      kind: 'rejected',
      digest: there.digest,
      problems: [{ problems: [{ code: 'unreadable', message: 'cannot be read: broken' }] }],
    })
    const silent = new URL('data:text/javascript,')
    expect(await parseWherever(there, never, silent)).toMatchObject({
      problems: [{ problems: [{ message: 'cannot be read: the worker thread exited' }] }],
    })
  })
})

describe('a watcher of a large file', () => {
  it('reports it, and the small one that follows', async () => {
    const bench = await WatchBench.start((each) => writeFile(each.path, ruleNamed('zero')), {
      parser: BUILT,
    })
    await bench.move(manyRules(MANY))
    await bench.until((version) => version.kind === 'rules' && version.file.rules.length === MANY)
    await bench.move(manyRules(MANY + 1))
    await bench.move(ruleNamed('last'))
    await bench.told('last')
    await bench.close()
  })

  it('can be closed while it is parsed', async () => {
    let least = Infinity
    for (let attempt = 0; attempt < 3 && least >= 900; attempt++) {
      const bench = await WatchBench.start((each) => writeFile(each.path, ruleNamed('zero')), {
        parser: BUILT,
      })
      await bench.move(manyRules(rounds(1200, 2500)))
      await eventually(() => (threads() > 0 ? undefined : 'no thread was started'))
      const since = performance.now()
      await bench.close()
      least = Math.min(least, performance.now() - since)
      expect(bench.versions.length).toBe(1)
      await eventually(() => (threads() === 0 ? undefined : `${threads()} are left`))
    }
    // Any attempt may stand still on a busy machine.
    expect(least).toBeLessThan(900)
  })
})
