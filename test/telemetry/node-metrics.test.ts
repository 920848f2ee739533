import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import { eventually } from '../support/eventually.ts'
import { type Family, parseExposition } from './exposition.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Few: each walks the whole heap of the worker, which other test files share. */
const COLLECTIONS = 4

async function scrape(metrics: Metrics): Promise<ReadonlyMap<string, Family>> {
  return parseExposition((await metrics.render()).text)
}

function expectDelays(families: ReadonlyMap<string, Family>): void {
  for (const part of ['min', 'max', 'mean', 'stddev', 'p50', 'p99']) {
    const [line] = families.get(`nodejs_eventloop_lag_${part}_seconds`)!.lines
    expect(line!.value).toBeLessThan(60)
  }
}

it('the first scrape has the delay of the event loop as numbers', async () => {
  expectDelays(await scrape(createMetrics({ version: '1' })))
})

it('a scrape right behind another one has the delay of the event loop as numbers', async () => {
  const metrics = createMetrics({ version: '1' })
  await scrape(metrics)
  expectDelays(await scrape(metrics))
})

it('a scrape lists no open files, sockets or timers', async () => {
  const names = [...(await scrape(createMetrics({ version: '1' }))).keys()]
  expect(names.filter((name) => /open_fds|nodejs_active/.test(name))).toEqual([])
})

it('garbage collections are watched from the first scrape on', async () => {
  const metrics = createMetrics({ version: '1' })
  const majors = async (): Promise<number> => {
    const lines = (await scrape(metrics)).get('nodejs_gc_duration_seconds')!.lines
    const name = 'nodejs_gc_duration_seconds_count'
    return lines.find((line) => line.name === name && line.labels['kind'] === 'major')?.value ?? 0
  }
  for (let i = 0; i < COLLECTIONS; i++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const before = await majors()
  expect(before).toBeLessThan(COLLECTIONS)
  collect()
  await eventually(async () => ((await majors()) > before ? undefined : 'none was counted'))
})
