// part: slow
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type * as PromRegistry from '../../src/telemetry/prom-registry.ts'
import { eventually } from '../support/eventually.ts'
import { type Family, parseExposition } from './exposition.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Few: each walks the whole heap of the worker, which other test files share. */
const COLLECTIONS = 4

type Families = ReadonlyMap<string, Family>

async function collectOften(): Promise<void> {
  for (let i = 0; i < COLLECTIONS; i++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Reads the metrics of Node as in a process that was not scraped before. */
async function unscraped(name: string): Promise<() => Promise<Families>> {
  const file = `../../src/telemetry/prom-registry.ts?${name}`
  const { nodeMetrics, registryTexts } = (await import(file)) as typeof PromRegistry
  return async () =>
    parseExposition((await registryTexts(await nodeMetrics(), 'prometheus')).join(''))
}

function expectDelays(families: Families): void {
  for (const part of ['min', 'max', 'mean', 'stddev', 'p50', 'p99']) {
    const [line] = families.get(`nodejs_eventloop_lag_${part}_seconds`)!.lines
    expect(line!.value).toBeLessThan(60)
  }
}

function majors(families: Families): number {
  const name = 'nodejs_gc_duration_seconds_count'
  const { lines } = families.get('nodejs_gc_duration_seconds')!
  return lines.find((line) => line.name === name && line.labels['kind'] === 'major')?.value ?? 0
}

it('the first scrape has the delay of the event loop as numbers', async () => {
  const scrape = await unscraped('first')
  expectDelays(await scrape())
})

it('a scrape right behind another one has the delay of the event loop as numbers', async () => {
  const scrape = await unscraped('second')
  await scrape()
  expectDelays(await scrape())
})

it('a scrape lists no open files, sockets or timers', async () => {
  const { text } = await new Metrics({ version: '1' }).render()
  const names = [...parseExposition(text).keys()]
  expect(names).toContain('process_cpu_seconds_total')
  expect(names.filter((name) => /open_fds|nodejs_active/.test(name))).toEqual([])
})

it('sidecars that share a process share what watches it', async () => {
  const scrape = async (metrics = new Metrics({ version: '1' })): Promise<number> =>
    majors(parseExposition((await metrics.render()).text))
  const first = new Metrics({ version: '1' })
  const before = await scrape(first)
  await collectOften()
  await eventually(async () =>
    (await scrape(first)) >= before + COLLECTIONS ? undefined : 'too few collections were counted',
  )
  // A later sidecar with a watcher of its own would begin near 0.
  const counted = await scrape(first)
  expect(await scrape()).toBeGreaterThanOrEqual(counted)
})

it('garbage collections are watched from the first scrape on', async () => {
  const scrape = await unscraped('collections')
  await collectOften()
  const before = majors(await scrape())
  expect(before).toBeLessThan(COLLECTIONS)
  collect()
  await eventually(async () =>
    majors(await scrape()) > before ? undefined : 'no collection was counted',
  )
})
