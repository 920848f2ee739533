// part: prometheus
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import {
  dashboards,
  isElsewhere,
  panelsOf,
  prometheusRules,
  queriesOf,
  ruleFiles,
} from '../dashboards/shipped.ts'
import { eventually } from '../support/eventually.ts'
import { metricOf } from '../support/wire.ts'
import { chosen } from './pictures/chosen.ts'
import { PATIENCE } from './patience.ts'
import {
  evaluatedAnew,
  type Prometheus,
  promtool,
  queryBecomes,
  scrapedMoment,
  type Series,
  startPrometheus,
} from '../support/cluster.ts'
import { nothingSeen, type Seen, type Stage } from './prometheus-stage.ts'
import { startSquall } from '../support/commands.ts'

const DIRECTORY = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))
const FILES = ruleFiles().map((file) => `${DIRECTORY}${file}`)
const WARM_ROUNDS = 60
const ROUNDS = 240
const CALLS = (WARM_ROUNDS + ROUNDS) * 8 * 2
const records = prometheusRules().flatMap(({ record }) => record ?? [])
const WORKLOAD = { namespace: 'shop', workload: 'tools' }

/** The queries of an AnalysisTemplate, or of a MetricTemplate. */
interface CanarySpec {
  readonly metrics?: readonly {
    readonly provider: { readonly prometheus: { readonly query: string } }
  }[]
  readonly query?: string
}

let stage: Stage
let prometheus: Prometheus
/** Seconds since the epoch: before the load, after it, and when all the trouble has been seen. */
let [before, loaded, troubled] = [0, 0, 0]
/** The observations of all clients, in total and while Prometheus scraped. */
const seen = nothingSeen()
const warm = nothingSeen()

beforeAll(async () => {
  stage = await startSquall({ scene: 'scraped' })
  // Every series is there before the first scrape: what a counter starts with is no increase.
  await stage.load(WARM_ROUNDS, warm)
  prometheus = await startPrometheus(
    stage.sidecars.map(({ admin, pod }) => ({ address: admin, labels: { ...WORKLOAD, pod } })),
    FILES,
  )
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[1m]) >= 2)', 2)
  before = Date.now() / 1000
  await stage.load(ROUNDS, seen)
  await queryBecomes(prometheus, 'sum(squall_calls_total)', CALLS)
  // The more scrapes there are, the less of an increase is extrapolated: at most 1.6 of them.
  await queryBecomes(prometheus, 'count(count_over_time(squall_build_info[5m]) >= 12)', 2)
  await Promise.all(records.map((record) => evaluatedAnew(prometheus, record)))
  loaded = await scrapedMoment(prometheus, 2)
})

afterAll(async () => {
  await prometheus?.close()
  await stage?.close()
})

function sum(counts: ReadonlyMap<string, number>, ends = ''): number {
  return [...counts].reduce((total, [key, value]) => total + (key.endsWith(ends) ? value : 0), 0)
}

function both(pick: (each: Seen) => ReadonlyMap<string, number>): Map<string, number> {
  const all = new Map(pick(warm))
  for (const [key, value] of pick(seen)) all.set(key, (all.get(key) ?? 0) + value)
  return all
}

function byLabels(series: readonly Series[], ...labels: string[]): Map<string, number> {
  return new Map(
    series.map(({ metric, values }) => [
      labels.map((label) => metric[label]).join('/'),
      values[0]!,
    ]),
  )
}

function known(series: readonly Series[]): boolean {
  return series.some(({ values }) => values.some((value) => Number.isFinite(value)))
}

describe('promtool', () => {
  it('finds no error in the rules', async () => {
    expect(await promtool(['check', 'rules', ...FILES])).not.toContain('FAILED')
  })

  it('finds that they do what their tests say', async () => {
    const tests = ['indicators', 'alerts', 'burn-rate', 'replicas', 'twice', 'webhook'].map(
      (name) => `${DIRECTORY}tests/${name}.test.yml`,
    )
    expect(await promtool(['test', 'rules', ...tests])).not.toContain('FAILED')
  })

  it('finds nothing amiss in what a sidecar exposes', async () => {
    await promtool(['check', 'metrics'], await stage.sidecars[0]!.metrics())
  })
})

describe('what was injected', () => {
  it('is the same for clients, sidecars and Prometheus', async () => {
    const query = 'sum by (rule, fault, tool) (squall_faults_injected_total)'
    const counted = byLabels(await prometheus.instant(query, loaded), 'rule', 'fault', 'tool')
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(both(({ faults }) => faults)))
    const texts = await Promise.all(stage.sidecars.map((sidecar) => sidecar.metrics()))
    for (const [key, value] of counted) {
      const [rule = '', fault = '', tool = ''] = key.split('/')
      const told = texts.map((text) =>
        metricOf(text, 'squall_faults_injected_total', { rule, fault, tool }),
      )
      expect(told[0]! + told[1]!, key).toBe(value)
    }
    expect(counted.size).toBe(6)
  })

  it('is shown apart from real errors', async () => {
    const query = (origin: string): string =>
      `sum by (tool) (squall_calls_total{outcome!~"ok|cancelled", origin${origin}})`
    const errors = both((each) => each.errors)
    const injected = byLabels(await prometheus.instant(query('="injected"'), loaded), 'tool')
    const real = byLabels(await prometheus.instant(query('!="injected"'), loaded), 'tool')
    const told = [...injected].map(([tool, value]) => [`${tool}/injected`, value])
    told.push(...[...real].map(([tool, value]) => [`${tool}/real`, value]))
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(errors))
    expect(sum(errors, '/real')).toBeGreaterThan(100)
  })
})

describe('the queries of canaries', () => {
  const texts = ['argo-rollouts', 'flagger'].map((name) =>
    readFileSync(new URL(`../../deploy/examples/${name}.yaml`, import.meta.url), 'utf8'),
  )
  const [analysis, template] = texts.map((text) => parse(text) as { spec: CanarySpec })
  const metrics = analysis!.spec.metrics!.map(({ provider }) => provider.prometheus.query)
  const queries = [...metrics, template!.spec.query!]

  it('choose the pods of the canary', () => {
    const chooses = (pod: string): readonly boolean[] =>
      queries.map((query) => {
        const [, text = ''] = /pod=~"([^"]+)"/.exec(query)!
        const pods = text
          .replace('{{args.hash}}', '7d9f8c6b54')
          .replace('{{ target }}', 'mcp-server')
        return new RegExp(`^(?:${pods})$`).test(pod)
      })
    expect(chooses('mcp-server-7d9f8c6b54-x2x4z')).toEqual([true, true, true])
    expect(chooses('mcp-server-primary-5c6b7d8f9-abcde')).toEqual([false, false, false])
  })

  it('have the errors that clients saw', async () => {
    const values = queries.map(async (query) => {
      const own = query
        .replaceAll(/pod=~"[^"]+"/g, 'pod=~"tools-.+"')
        .replaceAll('{{ namespace }}', 'shop')
        .replaceAll(/\[(?:2m|\{\{ interval \}\})\]/g, '[5m]')
      expect(own).not.toContain('{{')
      const [series] = await prometheus.instant(own, loaded)
      return series!.values[0]!
    })
    const [injected, share, percent] = await Promise.all(values)
    const real = sum(seen.errors, '/real') / sum(seen.calls)
    expect(injected).toBeGreaterThan(100)
    expect(share).toBeCloseTo(real, 1)
    expect(percent! / 100).toBeCloseTo(share!, 9)
  })
})

describe('the indicators', () => {
  it.each(records)('%s has data', async (record) => {
    expect(known(await prometheus.instant(record, loaded))).toBe(true)
  })

  it('are what clients saw', async () => {
    const calls = sum(seen.calls)
    const injected = sum(seen.errors, '/injected')
    const real = sum(seen.errors, '/real')
    const changed = sum(seen.changed)
    expect([injected, real, changed].every((value) => value > 100)).toBe(true)
    const expected = {
      effective_availability: (calls - injected - real - changed) / calls,
      injected_errors: injected / calls,
      real_errors: real / (calls - injected),
    }
    for (const [name, value] of Object.entries(expected)) {
      const record = `workload:squall_${name}:ratio_rate5m`
      const [told] = await prometheus.instant(record, loaded)
      expect(told?.metric, record).toMatchObject({ ...WORKLOAD, job: 'squall' })
      expect(told?.values[0], record).toBeCloseTo(value, 2)
    }
    const availability = expected.effective_availability
    const [blast] = await prometheus.instant(
      'workload:squall_predicted_blast_radius_fanout8:ratio_rate5m',
      loaded,
    )
    expect(blast?.values[0]).toBeCloseTo(1 - availability ** 8, 1)
  })

  it('say what each tool lost', async () => {
    const told = await prometheus.instant('tool:squall_effective_availability:ratio_rate5m', loaded)
    const tools = byLabels(told, 'tool')
    expect([...tools.keys()].toSorted()).toEqual(['billing', 'echo', 'query', 'search', 'weather'])
    for (const [tool, value] of tools) {
      const lost = ['injected', 'real'].map((origin) => seen.errors.get(`${tool}/${origin}`) ?? 0)
      const good = seen.calls.get(tool)! - lost[0]! - lost[1]! - (seen.changed.get(tool) ?? 0)
      expect(value, tool).toBeCloseTo(good / seen.calls.get(tool)!, 1.5)
    }
    const added = byLabels(
      await prometheus.instant('tool:squall_added_latency_seconds:mean_rate5m', loaded),
      'tool',
    )
    const delayed = seen.faults.get('slow-search/delay/search')! / seen.calls.get('search')!
    expect(added.get('search')).toBeGreaterThan(delayed * 0.058)
    // Clients have also waited for the latency that a busy machine adds to both.
    const waited = (tool: string): number => seen.waited.get(tool)! / seen.calls.get(tool)!
    expect(added.get('search')).toBeLessThan(waited('search'))
    expect(added.get('billing')).toBeLessThan(waited('billing'))
    expect(added.get('billing')).toBeLessThan(added.get('search')!)
  })
})

describe('trouble', () => {
  beforeAll(async () => {
    const second = stage.sidecars[1]!
    await eventually(async () => {
      for (let i = 0; i < 20; i++) await stage.fail(second)
      return metricOf(await second.metrics(), 'squall_armed') === 0 ? undefined : 'the guard waits'
    }, PATIENCE)
    // Makes calls that the rules match while they are disarmed.
    await stage.load(2, nothingSeen())
    await second.mounted.swap('rules: [{ name: wrong, faults: [explode: {}] }]')
    await queryBecomes(prometheus, 'squall_disarmed_reason{pod="tools-1", reason="guard"}', 1)
    await queryBecomes(prometheus, 'squall_rules_last_reload_success{pod="tools-1"}', 0)
    await queryBecomes(prometheus, 'count(increase(squall_guard_trips_total[5m]) > 0)', 1)
    const looked = 'squall_rule_evaluations_total{result="disarmed", rule="slow-search"}[10s]'
    await queryBecomes(prometheus, `count(count_over_time(${looked}) >= 2) > bool 0`, 1)
    troubled = await scrapedMoment(prometheus, 2)
  })

  it('all rules are evaluated without an error', async () => {
    const rules = await prometheus.rules()
    expect(rules).toHaveLength(prometheusRules().length)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  it.each([
    'SquallArmedTooLong',
    'SquallLastReloadFailed',
    'SquallGuardTripped',
    'SquallRuleIdle',
    'SquallRealErrorsRising',
  ])('%s begins to count', async (name) => {
    const { expr = '' } = prometheusRules().find(({ alert }) => alert === name) ?? {}
    const found = await prometheus.instant(expr, troubled)
    expect(found[0]?.metric).toMatchObject(WORKLOAD)
    if (name === 'SquallRuleIdle') expect(found[0]?.metric['rule']).toBe('nobody-calls')
    if (name === 'SquallArmedTooLong') expect(found[0]?.values).toEqual([1])
  })

  describe.each(dashboards().map((board) => [board.title, board] as const))('%s', (_, board) => {
    const choices = { ...WORKLOAD, pod: 'tools-0|tools-1', tool: '.*', rule: '.*' }

    // There is no webhook here: prometheus-twice.test.ts has one. Nobody repeats a call for long.
    const queries = queriesOf(board).filter(({ expr }) => !isElsewhere(expr))
    it.each(queries.map(({ where, expr }) => [where, expr] as const))(
      '%s has data',
      async (__, expr) => {
        const all = await prometheus.range(chosen(expr), before, troubled)
        expect(known(all)).toBe(true)
        expect(
          known(await prometheus.range(chosen(expr, { variables: choices }), before, troubled)),
        ).toBe(true)
      },
    )

    it('tables and numbers have data at the end', async () => {
      const now = panelsOf(board).flatMap(({ title, targets = [] }) =>
        targets
          .filter(({ instant, expr }) => instant && !isElsewhere(expr))
          .map(({ expr }) => ({ title, expr })),
      )
      expect(now.length).toBeGreaterThan(3)
      for (const { title, expr } of now) {
        expect(known(await prometheus.instant(chosen(expr), troubled)), title).toBe(true)
      }
    })

    it('other choices show nothing of it', async () => {
      for (const { targets = [], title } of panelsOf(board)) {
        for (const { expr } of targets) {
          const found = await prometheus.instant(
            chosen(expr, { variables: { namespace: 'elsewhere' } }),
            loaded,
          )
          const values = found.flatMap((each) => each.values)
          expect(
            values.filter((value) => value !== 0),
            title,
          ).toEqual([])
        }
      }
    })
  })

  it('numbers on the overview are what clients saw', async () => {
    const [board] = dashboards()
    const read = async (title: string): Promise<number> => {
      const { targets = [] } = board!.panels.find((panel) => panel.title === title)!
      // All of the load, however long it took, and the scrape before it.
      const range = `${Math.ceil(loaded - before) + 5}s`
      return (await prometheus.instant(chosen(targets[0]!.expr, { range }), loaded))[0]!.values[0]!
    }
    const calls = sum(seen.calls)
    const injected = sum(seen.errors, '/injected')
    const real = sum(seen.errors, '/real')
    expect(await read('Effective tool availability')).toBeCloseTo(
      (calls - injected - real - sum(seen.changed)) / calls,
      2,
    )
    expect(await read('Injected errors')).toBeCloseTo(injected / calls, 2)
    expect(await read('Real errors')).toBeCloseTo(real / (calls - injected), 2)
    expect(await read('Armed sidecars with rules')).toBe(2)
    // An increase is extrapolated by at most 1.6 scrapes, of at least 11.
    const faults = await read('Faults injected')
    expect(faults).toBeGreaterThan(sum(seen.faults) * 0.99)
    expect(faults).toBeLessThan(sum(seen.faults) * 1.2)
  })

  it('a sidecar that has gone is reported', async () => {
    await stage.sidecars[1]!.kill()
    const { expr = '' } = prometheusRules().find(({ alert }) => alert === 'SquallSidecarDown') ?? {}
    await queryBecomes(prometheus, expr.replaceAll('2m', '5s'), 1)
  })
})
