// part: prometheus
// Needs Prometheus. Each sidecar is scraped by two jobs, as with annotations and a PodMonitor at
// the same time: numbers on the dashboards are those of one sidecar, not of two.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  dashboards,
  isAboutWebhook,
  panelsOf,
  prometheusRules,
  queriesOf,
} from '../dashboards/shipped.ts'
import { metricOf } from '../support/wire.ts'
import {
  ASK,
  evaluatedAnew,
  judge,
  podOf,
  type Prometheus,
  queryBecomes,
  scrapedMoment,
  type StagedWebhook,
  startPrometheus,
} from '../support/cluster.ts'
import { chosen } from './pictures/chosen.ts'
import { nothingSeen, type Stage } from './prometheus-stage.ts'
import { startSquall } from '../support/commands.ts'

const JOBS = ['kubernetes-pods', 'chaos/squall-sidecars']
const LABELS = { namespace: 'shop', workload: 'tools' }
const PODS = 2
const WARM_ROUNDS = 30
const ROUNDS = 60
const CALLS_IN_ROUND = 8
const FILES = ['indicators', 'alerts'].map((name) =>
  fileURLToPath(new URL(`../../deploy/prometheus/${name}.yml`, import.meta.url)),
)

let stage: Stage
let webhook: StagedWebhook
let prometheus: Prometheus
let before: number
let loaded: number
const seen = nothingSeen()

beforeAll(async () => {
  stage = await startSquall({ scene: 'scraped' })
  webhook = await startSquall({ webhook: {} })
  await stage.load(WARM_ROUNDS, nothingSeen())
  const review = async (): Promise<void> => void (await judge(webhook.port, podOf(ASK)))
  await review()
  const sidecars = stage.sidecars.flatMap(({ admin, pod }) =>
    // The second job adds a label, as an operator does.
    JOBS.map((job, index) => ({
      address: admin,
      job,
      labels: { ...LABELS, pod, ...(index === 0 ? {} : { endpoint: 'squall-admin' }) },
    })),
  )
  const hook = JOBS.map((name) => ({
    address: webhook.webhook.admin.text,
    job: `${name}-webhook`,
    labels: { namespace: 'squall-system', pod: 'squall-0' },
  }))
  prometheus = await startPrometheus([...sidecars, ...hook], FILES)
  const targets = JOBS.length * PODS
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[1m]) >= 2)', targets)
  before = Date.now() / 1000
  await stage.load(ROUNDS, seen)
  for (let i = 0; i < 9; i++) await review()
  const calls = (WARM_ROUNDS + ROUNDS) * CALLS_IN_ROUND * targets
  await queryBecomes(prometheus, 'sum(squall_calls_total)', calls)
  await queryBecomes(prometheus, 'sum(squall_injections_total)', 10 * JOBS.length)
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[5m]) >= 12)', targets)
  await evaluatedAnew(prometheus, 'workload:squall_injected_errors:ratio_rate5m')
  loaded = await scrapedMoment(prometheus, (PODS + 1) * JOBS.length)
})

afterAll(async () => {
  await prometheus?.close()
  await webhook?.close()
  await stage?.close()
})

async function value(title: string, job: string): Promise<number> {
  const panels = dashboards().flatMap(panelsOf)
  const { targets = [] } = panels.find((panel) => panel.title === title)!
  const range = `${Math.ceil(loaded - before) + 5}s`
  const query = chosen(targets[0]!.expr, { range, rateInterval: range, variables: { job } })
  return (await prometheus.instant(query, loaded))[0]!.values[0]!
}

/** Offers the jobs that the variable of the dashboards lists. */
async function offered(): Promise<readonly string[]> {
  const { definition = '' } = dashboards()[0]!.templating.list.find(({ name }) => name === 'job')!
  const [, selector = ''] = /^label_values\((.*), job\)$/.exec(definition) ?? []
  const found = await prometheus.instant(`group by (job) (${chosen(selector)})`, loaded)
  return found.map(({ metric }) => metric['job']!).toSorted()
}

describe('a sidecar that two jobs scrape', () => {
  it('is offered under each of them, and one is chosen', async () => {
    expect(await offered()).toEqual(JOBS.toSorted())
  })

  it.each(JOBS)('is counted once with %s', async (job) => {
    expect(await value('Sidecars', job)).toBe(PODS)
    expect(await value('Armed sidecars with rules', job)).toBe(PODS)
    const total = (counts: ReadonlyMap<string, number>): number =>
      [...counts.values()].reduce((sum, each) => sum + each, 0)
    // An increase is extrapolated by at most 1.6 scrapes, of at least 11.
    const faults = await value('Faults injected', job)
    expect(faults).toBeGreaterThan(total(seen.faults) * 0.99)
    expect(faults).toBeLessThan(total(seen.faults) * 1.2)
    const texts = await Promise.all(stage.sidecars.map((sidecar) => sidecar.metrics()))
    const matched = texts.map((text) =>
      metricOf(text, 'squall_rule_matches_total', { rule: 'slow-search' }),
    )
    const query = 'sum(squall_rule_matches_total{rule="slow-search", job=~"$job"})'
    const [series] = await prometheus.instant(chosen(query, { variables: { job } }), loaded)
    expect(series?.values[0]).toBe(matched[0]! + matched[1]!)
  })

  it('would be counted twice with both', async () => {
    expect(await value('Sidecars', '.*')).toBe(PODS * JOBS.length)
  })

  it('has the same indicators in each job, and in none the sum of both', async () => {
    const calls = await prometheus.instant('workload:squall_calls:rate5m', loaded)
    expect(calls.map(({ metric }) => metric['job']!).toSorted()).toEqual(JOBS.toSorted())
    const once = `sum(rate(squall_calls_total{method="tools/call", job="${JOBS[0]}"}[5m]))`
    const truth = (await prometheus.instant(once, loaded))[0]!.values[0]!
    for (const { values } of calls) {
      expect(values[0]! / truth).toBeGreaterThan(0.8)
      expect(values[0]! / truth).toBeLessThan(1.25)
    }
  })

  it('raises one alert for the workload, which counts each pod once', async () => {
    for (const { mounted } of stage.sidecars) {
      await mounted.swap('rules: [{ name: wrong, faults: [explode: {} ] }]')
    }
    const failing = 'count(squall_rules_last_reload_success == 0)'
    await queryBecomes(prometheus, failing, PODS * JOBS.length)
    const { expr = '' } =
      prometheusRules().find(({ alert }) => alert === 'SquallLastReloadFailed') ?? {}
    await queryBecomes(prometheus, expr, PODS)
    await queryBecomes(prometheus, `count(${expr})`, 1)
  })
})

describe('a webhook that two jobs scrape', () => {
  const queries = dashboards()
    .flatMap(queriesOf)
    .filter(({ expr }) => isAboutWebhook(expr))

  it.each(queries.map(({ where, expr }) => [where, expr] as const))(
    '%s has data',
    async (_, expr) => {
      const range = `${Math.ceil(loaded - before) + 5}s`
      const found = await prometheus.instant(chosen(expr, { rateInterval: range }), loaded)
      expect(found.some(({ values }) => Number.isFinite(values[0]))).toBe(true)
    },
  )

  it('is counted once', async () => {
    expect(await value('Webhook replicas', '.*')).toBe(1)
    const window = Math.ceil(loaded - before) + 5
    const perSecond = await value('Pod admission requests by result', '.*')
    expect(perSecond * window).toBeGreaterThan(8.9)
    expect(perSecond * window).toBeLessThan(9 * 1.3)
  })
})
