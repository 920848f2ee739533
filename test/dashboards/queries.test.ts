import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LABELS } from '../../src/telemetry/metric-labels.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import type { MetricSpec } from '../../src/telemetry/text-format.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { WEBHOOK_METRICS } from '../../packages/kubernetes/src/webhook/webhook-metric-table.ts'
import { parseExposition } from '../telemetry/exposition.ts'
import { namesIn } from './promql.ts'
import { dashboards, isAboutWebhook, prometheusRules, queriesOf, type Query } from './shipped.ts'

/** The labels that scraping adds to each series. */
const TARGET = ['cluster', 'job', 'instance', 'namespace', 'workload', 'pod']
const RUNBOOKS = 'https://github.com/OWNER/squall/blob/main/docs/guides/runbooks.md'
const rules = prometheusRules()
const boards = dashboards()
const ruleQueries: readonly Query[] = rules.map(({ file, record, alert, expr }) => ({
  where: `${file}: ${record ?? alert ?? ''}`,
  expr,
}))
const queries = [...boards.flatMap(queriesOf), ...ruleQueries]
const ALL_METRICS: readonly MetricSpec[] = [...METRICS, ...WEBHOOK_METRICS]
const known = await knownMetrics()

/** The labels of every series that there can be, by its name. */
async function knownMetrics(): Promise<ReadonlyMap<string, readonly string[]>> {
  const metrics = new Map<string, readonly string[]>([
    ['up', []],
    // From kube-state-metrics.
    ['kube_job_status_failed', ['job_name']],
    ['kube_job_created', ['job_name']],
  ])
  const declare = (name: string, type: string, labels: readonly string[]): void => {
    if (type !== 'histogram') metrics.set(name, labels)
    else {
      metrics.set(`${name}_bucket`, [...labels, 'le'])
      metrics.set(`${name}_sum`, labels)
      metrics.set(`${name}_count`, labels)
    }
  }
  const own: readonly MetricSpec[] = ALL_METRICS
  const { text } = await new Metrics({ version: '0' }).render()
  for (const [name, { type, lines }] of parseExposition(text)) {
    const seen = lines
      .flatMap(({ labels }) => Object.keys(labels))
      .filter((label) => label !== 'le')
    // Nothing has been collected yet, so that this one has no series to learn from.
    declare(name, type, name === 'nodejs_gc_duration_seconds' ? ['kind'] : seen)
  }
  for (const { name, type, labels } of own) declare(name, type, labels)
  // A recorded series has the labels that its expression sums by.
  for (const { record, expr } of rules) {
    if (record !== undefined) metrics.set(record, labelsWithin(expr, metrics))
  }
  return metrics
}

function labelsWithin(expr: string, metrics: ReadonlyMap<string, readonly string[]>): string[] {
  const { selectors, grouping } = namesIn(expr)
  return [
    ...new Set([...grouping, ...selectors.flatMap(({ metric }) => metrics.get(metric) ?? [])]),
  ]
}

it('a query is read', () => {
  expect(
    namesIn(
      'sum by (job, le) (rate(a_bucket{le=~"1|2.5", x!="y"}[5m])) / on (job) 2 * b:c offset 1h > 0',
    ),
  ).toEqual({
    selectors: [
      {
        metric: 'a_bucket',
        labels: [
          { name: 'le', value: '1|2.5' },
          { name: 'x', value: 'y' },
        ],
      },
      { metric: 'b:c', labels: [] },
    ],
    grouping: ['job', 'le', 'job'],
  })
})

describe.each(queries.map(({ where, expr }) => [where, expr] as const))('%s', (_, expr) => {
  it('names only metrics, labels and values that there are', () => {
    const { selectors, grouping } = namesIn(expr)
    expect(selectors.length).toBeGreaterThan(0)
    for (const { metric, labels } of selectors) {
      expect(known.has(metric), metric).toBe(true)
      for (const { name, value } of labels) {
        expect([...TARGET, ...known.get(metric)!], `${metric}{${name}}`).toContain(name)
        for (const each of isAboutWebhook(metric) ? [] : valuesOf(name, value)) {
          expect(LABELS[name as keyof typeof LABELS], `${name}="${each}"`).toContain(`\`${each}\``)
        }
      }
    }
    const there = [...TARGET, ...selectors.flatMap(({ metric }) => known.get(metric)!)]
    for (const label of grouping) expect(there, label).toContain(label)
  })
})

/** The values in a selector that are listed in the reference, as it has them. */
function valuesOf(name: string, value: string): readonly string[] {
  const listed = ['outcome', 'origin', 'result', 'class', 'table']
  // An empty one picks the series that do not have the label.
  const written = value !== '' && !value.includes('$')
  return listed.includes(name) && written ? value.split('|') : []
}

const records = rules.flatMap((rule) =>
  rule.record === undefined ? [] : [[rule.record, rule] as const],
)

describe.each(records)('%s', (_, rule) => {
  const read = namesIn(rule.expr).selectors.map(({ metric }) => metric)
  const recorded = read.filter((metric) => rules.some(({ record }) => record === metric))

  it('stands only on what its own group has recorded for the same moment', () => {
    const before = rules.slice(0, rules.indexOf(rule))
    const fresh = before.filter(({ file, group }) => file === rule.file && group === rule.group)
    const names = fresh.map(({ record }) => record)
    expect(recorded.filter((metric) => !names.includes(metric))).toEqual([])
  })

  it('reads either what was scraped or what was recorded, as a scrape may end between two rules', () => {
    expect([0, read.length]).toContain(recorded.length)
  })
})

it('every label in a legend, a mark or an annotation is one of the query', () => {
  const check = (where: string, text: string, expr: string): void => {
    for (const [, label] of text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)) {
      expect([...TARGET, ...labelsWithin(expr, known)], `${where}: ${label}`).toContain(label)
    }
  }
  for (const board of boards) {
    for (const { title, type, targets = [] } of board.panels) {
      for (const { legendFormat, expr } of targets) {
        check(title, legendFormat, expr)
        if (type !== 'timeseries') continue
        // The labels that a sum keeps distinguish its series.
        const kept = namesIn(expr).grouping.filter((label) => !['le', ...TARGET].includes(label))
        for (const label of kept) expect(legendFormat, title).toContain(`{{${label}}}`)
      }
    }
    for (const { name, textFormat, expr } of board.annotations.list) check(name, textFormat, expr)
  }
  for (const { alert = '', annotations = {}, expr } of rules) {
    for (const text of Object.values(annotations)) check(alert, text, expr)
  }
})

it('every metric of Squall is in some dashboard', () => {
  const shown = new Set(
    boards
      .flatMap(queriesOf)
      .flatMap(({ expr }) => namesIn(expr).selectors.map(({ metric }) => metric)),
  )
  const missing = ALL_METRICS.filter(
    ({ name }) => ![...shown].some((metric) => metric.startsWith(name)),
  )
  // Only exposed with full detail; dashboards work with both.
  expect(missing.map(({ name }) => name)).toEqual(['squall_errors_total'])
})

it('no alert counts injected errors, and each says how bad it is and what to do', () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined)
  expect(alerts.length).toBeGreaterThan(8)
  for (const { alert, labels, annotations, expr } of alerts) {
    expect(['critical', 'warning', 'info'], alert).toContain(labels?.['severity'])
    expect(annotations?.['summary'], alert).toMatch(/\w/)
    expect(annotations?.['description'], alert).toMatch(/\w/)
    expect(expr, alert).not.toMatch(/origin=~?"injected/)
    expect(expr, alert).not.toContain('squall_injected_errors')
  }
})

it('each alert leads to a section of the runbooks, and each section is about an alert', () => {
  const page = readFileSync(new URL('../../docs/guides/runbooks.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name)
  const alerts = rules.flatMap(({ alert, annotations }) => {
    if (alert === undefined) return []
    expect(annotations?.['runbook_url']).toBe(`${RUNBOOKS}#${alert.toLowerCase()}`)
    return [alert]
  })
  expect(sections.toSorted()).toEqual(alerts.toSorted())
})
