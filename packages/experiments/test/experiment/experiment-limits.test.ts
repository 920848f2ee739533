// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import { during, podsStage, type PodsStage } from './pods-stage.ts'

const SYSTEM = '/api/v1/namespaces/squall-system/configmaps'
const ENTRIES = `${SYSTEM}/squall-experiments`
const HOUR_MS = 3_600_000

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

function limit(data: Readonly<Record<string, string>>): void {
  stage.shop.api.put(`${SYSTEM}/squall-budget`, { data: { ...data, by: 'sre' } })
}

/** The entry of an experiment of somebody else. */
function entry(at: number, until: number, namespace = 'cart'): string {
  const [begun, end] = [at, until].map((ms) => new Date(Date.now() + ms).toISOString())
  return JSON.stringify({ namespace, by: 'lena', at: begun, until: end })
}

function enter(entries: Readonly<Record<string, string>>): void {
  stage.shop.api.put(ENTRIES, { data: entries })
}

const entries = (): Readonly<Record<string, string>> =>
  (stage.shop.api.store.get(ENTRIES)?.['data'] ?? {}) as Record<string, string>

test('an experiment has an entry while it runs, which its end closes', async () => {
  limit({ experiments: '1' })
  let running: readonly string[] = []
  const onEvent = during('20%', () => {
    running = Object.values(entries())
  })
  const { id } = await stage.run({}, { onEvent })
  expect(running).toHaveLength(1)
  expect(JSON.parse(running[0]!)).toMatchObject({ namespace: 'shop' })
  const closed = JSON.parse(entries()[id]!) as { until: string }
  expect(Date.parse(closed.until)).toBeLessThanOrEqual(Date.now() + 1_000)
  // The next one has the place.
  await stage.die('5s')
  expect(Object.keys(entries())).toHaveLength(2)
})

test.each([
  [
    { experiments: '1' },
    { a: entry(-60_000, HOUR_MS) },
    /experiments allows 1, and 1 run, such as a of lena of cart, until 20.*; set by sre/,
  ],
  [{ 'experiments.shop': '1' }, { a: entry(-60_000, HOUR_MS) }, undefined],
  [{ 'experiments.shop': '0' }, {}, /experiments\.shop allows 0, and 0 run/],
  [{ experiments: '1' }, { a: entry(-60_000, -1_000) }, undefined],
  [
    { experimentsPerHour: '2' },
    { a: entry(-60_000, -1_000), b: entry(-HOUR_MS / 2, -1_000) },
    /experimentsPerHour allows 2, and 2 began within an hour, such as b of lena of cart, until/,
  ],
  [
    { experimentsPerHour: '2' },
    { a: entry(-60_000, -1_000), b: entry(-2 * HOUR_MS, -1_000) },
    undefined,
  ],
])('the budget %j with other experiments: %#', async (budget, others, denial) => {
  limit(budget)
  enter(others)
  if (denial === undefined) {
    await stage.die('5s')
    expect(Object.keys(entries())).toContain('20260101-000000-abcdef')
    return
  }
  const before = stage.configMap()
  expect((await stage.rejected()).join('\n')).toMatch(denial)
  expect(stage.configMap()).toEqual(before)
  expect(entries()).toEqual(others)
})

test('a runner that dies keeps its place until its claim expires, and counts for the hour', async () => {
  limit({ experiments: '1', experimentsPerHour: '5' })
  await stage.die('5s')
  expect((await stage.rejected()).join('\n')).toContain('such as 20260101-000000-abcdef')
  limit({ experiments: '5', experimentsPerHour: '1' })
  expect((await stage.rejected()).join('\n')).toContain('1 began within an hour')
})

test('an experiment that cannot be counted does not begin', async () => {
  limit({ experiments: '1' })
  const { before } = stage.shop.api
  stage.shop.api.before = (seen) => (seen.path === ENTRIES ? 403 : before(seen))
  expect((await stage.rejected()).join('\n')).toMatch(
    /OVER_BUDGET: .* denies new chaos in shop.*squall-ex/,
  )
})

test('entries that count no more are removed', async () => {
  limit({ experimentsPerHour: '2' })
  enter({ old: entry(-2 * HOUR_MS, -HOUR_MS), broken: '{' })
  await stage.die('5s')
  expect(Object.keys(entries())).toEqual(['20260101-000000-abcdef'])
})

test('an experiment notes the budget on its ConfigMap, so that an unreadable one allows nothing', async () => {
  limit({ freeze: 'false' })
  await stage.die('5s')
  const { before } = stage.shop.api
  stage.shop.api.before = (seen) => (seen.path === `${SYSTEM}/squall-budget` ? 403 : before(seen))
  expect((await stage.rejected()).join('\n')).toMatch(/OVER_BUDGET: .* denies new chaos in shop/)
})
