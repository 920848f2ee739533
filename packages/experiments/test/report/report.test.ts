import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Indicators } from '../../src/indicators/indicators.ts'
import { ENDINGS, endingsOf } from '../../src/report/endings.ts'
import { INDICATOR_ROWS } from '../../src/report/indicator-rows.ts'
import { reportMarkdown } from '../../src/report/markdown.ts'
import type { TitledRun } from '../../src/report/report-table.ts'
import { latency, integerText } from '../../../../src/base/text/shown-numbers.ts'
import { writeReport } from '../../src/report/write-report.ts'
import { sampleRuns, type SampleRuns } from './sample-runs.ts'

const HOSTILE = [
  '</script><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '<!--',
  'a|b`c`](https://evil.example/)\u2028\u202e\u0000\nend',
]

let samples: SampleRuns
let runs: readonly TitledRun[]

beforeAll(async () => {
  samples = await sampleRuns(400)
  runs = [
    { title: 'plain', result: samples.plain },
    { title: 'retried', result: samples.retried },
  ]
})

/** Returns the text between two others. */
function between(text: string, from: string, to: string): string {
  const start = text.indexOf(from) + from.length
  return text.slice(start, text.indexOf(to, start))
}

function data(html: string, id: string): unknown {
  return JSON.parse(between(html, `<script type="application/json" id="${id}">`, '</script>'))
}

function rename(name: string): readonly TitledRun[] {
  const { plain } = samples
  const tools = plain.tools.map((tool) => ({ ...tool, tool: name }))
  const faults = plain.faults.map((fault) => ({ ...fault, rule: name, tools: { [name]: 1 } }))
  const run = { ...plain.run, server: name, options: { [name]: name } }
  return [{ title: name, about: name, result: { ...plain, run, tools, faults } }, ...runs]
}

describe('the numbers of a report', () => {
  it('are those of the results, which it holds as they were', () => {
    const html = writeReport(runs)
    expect(data(html, 'results')).toEqual(runs)
    const table = between(html, 'id="indicators"', '</table>')
    for (const row of INDICATOR_ROWS) {
      const cells = between(table, row.name, '</tr>').matchAll(/<td class="number">([^<]*)/g)
      const shown = Array.from(cells, ([, text]) => parseFloat(text!))
      for (const [i, { result }] of runs.entries()) {
        const factor = row.unit === 'number' ? 1 : 100
        expect(shown[i], row.key).toBeCloseTo(result.indicators[row.key]! * factor, 0)
      }
    }
    const { counts } = samples.retried
    expect(table).toContain(`<small>${integerText(counts.success)} / ${integerText(counts.calls)}<`)
    expect(table).toContain(`<small>${integerText(counts.retries)} / ${integerText(counts.tasks)}<`)
    expect(html).toContain(`<td class="number">${latency(samples.plain.latency.summary.p99)}</td>`)
  })

  it.each([
    ['Tool-call success rate (TCSR)', 'tcsr'],
    ['Effective tool availability (ETA)', 'eta'],
    ['Availability, the first factor', 'etaResponded'],
    ['Correctness, the second factor', 'etaUsable'],
    ['Schema conformance (SCR)', 'scr'],
    ['Deadline adherence', 'deadlineAdherence'],
    ['Amplification (TCAF)', 'tcaf'],
    ['Retries per task', 'retriesPerTask'],
    ['Blast radius', 'blastRadius'],
    ['Blast radius, predicted', 'blastRadiusPredicted'],
    ['Degraded tasks', 'degraded'],
    ['Silent failures', 'silentFailures'],
    ['Safe failures', 'safeFailures'],
  ] as const)('stand beside their names: %s', (name, key) => {
    const { plain } = samples
    const reported = Object.keys(plain.indicators).map((each, i) => [each, (i + 1) / 40] as const)
    const indicators = Object.fromEntries(reported) as unknown as Indicators
    const html = writeReport([{ title: 'plain', result: { ...plain, indicators } }])
    const row = between(html, `<th scope="row">${name}<`, '</tr>')
    const value = indicators[key]!
    const shown = /^tcaf|^retries/.test(key)
      ? String(Math.round(value * 100) / 100)
      : `${(value * 100).toFixed(1)} %`
    expect(row).toContain(`<td class="number">${shown}<`)
  })

  it('name each call once, however it ended', () => {
    for (const { result } of runs) {
      const endings = endingsOf(result)
      expect(ENDINGS.reduce((sum, { name }) => sum + endings[name], 0)).toBe(result.counts.calls)
      expect(endings.ok).toBe(result.counts.success)
    }
  })

  it('are drawn as they are written, to the last call', () => {
    const { plain } = samples
    const charts = data(writeReport([runs[0]!]), 'charts') as readonly {
      readonly id: string
      readonly series: readonly { readonly label: string; readonly values: readonly number[] }[]
    }[]
    const sum = (id: string): number =>
      charts
        .find((chart) => chart.id === id)!
        .series.flatMap(({ values }) => values)
        .reduce((all, value) => all + value, 0)
    expect(sum('calls-0')).toBe(plain.counts.calls)
    expect(sum('errors-0')).toBe(plain.counts.calls - plain.counts.responded)
  })

  it('read the same when they are pointed at in the page', () => {
    const source = readFileSync(new URL('../../src/report/page/format.js', import.meta.url), 'utf8')
    const sandbox: { squallFormat?: Record<string, (value: number | null) => string> } = {}
    runInNewContext(`globalThis = this; ${source}`, sandbox)
    const { count: inPage, latency: latencyInPage } = sandbox.squallFormat!
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (value) => {
        expect(inPage!(value)).toBe(integerText(value))
        expect(latencyInPage!(value)).toBe(latency(value))
      }),
    )
    expect(latencyInPage!(null)).toBe(latency(null))
  })
})

describe('the gates of a report', () => {
  it('that failed come first, in words and in colour', () => {
    const passed = { gate: 'p99<2s', limit: 2000, measured: 12, ok: true }
    const failed = { gate: 'blast<5%', limit: 0.05, measured: 0.275, ok: false }
    const result = { ...samples.plain, slo: [passed, failed] }
    const words = 'Failed: 27.5 % of tasks failed, the limit is 5 %.'
    const html = writeReport([{ title: 'plain', result }]).replaceAll('\u00a0', ' ')
    expect(html.indexOf(`<b class="bad">${words}</b>`)).toBeGreaterThan(0)
    expect(html.indexOf(words)).toBeLessThan(html.indexOf('class="sentence"'))
    expect(between(html, 'id="gates-0"', '</table>')).toMatch(/blast[^]*failed[^]*p99[^]*passed/)
    const markdown = reportMarkdown([{ title: 'plain', result }])
    expect(markdown.indexOf(words)).toBeLessThan(markdown.indexOf('calls succeeded'))
  })

  it('have curves that do not hide each other', () => {
    const point = { ...samples.plain.timeline.points[0]!, retries: 5, dropped: 5 }
    const result = { ...samples.plain, timeline: { intervalMs: 1000, points: [point, point] } }
    const charts = data(writeReport([{ title: 'plain', result }]), 'charts') as readonly {
      readonly id: string
      readonly series: readonly { readonly line?: boolean; readonly dash?: readonly number[] }[]
    }[]
    const lines = charts.find(({ id }) => id === 'calls-0')!.series.filter(({ line }) => line)
    expect(new Set(lines.map(({ dash }) => String(dash))).size).toBe(2)
  })
})

describe('a report as a file', () => {
  it('lets a browser run what it holds, and nothing else', () => {
    const html = writeReport(runs)
    const policy = between(html, 'Content-Security-Policy" content="', '"').replaceAll('&#39;', "'")
    const hash = (text: string): string =>
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const inline = Array.from(html.matchAll(/<script>([^]*?)<\/script>/g), ([, text]) =>
      hash(text!),
    )
    const styles = Array.from(html.matchAll(/<style>([^]*?)<\/style>/g), ([, text]) => hash(text!))
    expect(inline).toHaveLength(4)
    expect(policy).toContain(`script-src ${inline.join(' ')};`)
    expect(policy).toContain(`style-src ${styles.join(' ')};`)
    expect(policy).toMatch(/^default-src 'none';/)
    expect(policy).not.toContain('unsafe')
    expect(html).not.toMatch(/ style=| on[a-z]+="/)
    // The policy comes before everything that it is for.
    expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<title'))
  })

  it('asks for nothing from anywhere', () => {
    const html = writeReport(runs)
    const named = html.matchAll(/\b(?:src|href|srcset|action|data|poster)="([^"]*)"/g)
    expect(Array.from(named, ([, url]) => url!.slice(0, 5))).toEqual(['data:'])
    expect(html).not.toMatch(/@import|url\((?!#)|<(?:img|iframe|object|embed|base)\b/)
  })

  it.each(HOSTILE)('takes the name %j for a name', (name) => {
    const html = writeReport(rename(name), { title: name, notes: [name] })
    const plain = writeReport(rename('plain'), { title: 'plain', notes: ['plain'] })
    const tags = (text: string): string[] =>
      Array.from(text.matchAll(/<\/?[a-z!][a-z0-9-]*/gi), ([tag]) => tag)
    expect(tags(html)).toEqual(tags(plain))
    expect(data(html, 'results')).toEqual(rename(name))
    // oxlint-disable-next-line no-control-regex
    expect(/[\u2028\u2029\u202e\u0000]/.test(html)).toBe(false)
  })
})

describe('the report as Markdown', () => {
  it('says the same as the HTML file', () => {
    const markdown = reportMarkdown(runs, { title: 'Before and after', notes: ['One note.'] })
    expect(markdown).toMatch(/^# Before and after\n/)
    const { counts } = samples.plain
    const calls = integerText(counts.calls)
    const head = `${integerText(counts.success)} of ${calls} calls succeeded; `
    expect(markdown).toMatch(new RegExp(`\\*\\*plain\\*\\*: Failed: .*${head}`))
    expect(markdown).toContain(`(${integerText(counts.success)} / ${calls})`)
    expect(markdown).toContain('## retried\n\n### By tool\n')
    expect(markdown).toContain('| p99<2s |'.replace('<', '&lt;'))
  })

  it.each(HOSTILE)('takes the name %j for a name', (name) => {
    const markdown = reportMarkdown(rename(name), { title: name, notes: [name] })
    const lines = markdown.split('\n')
    let columns = 0
    for (const line of lines) {
      const bars = line.match(/(?<!\\)\|/g)?.length ?? 0
      if (columns > 0 && bars > 0) expect(bars, line).toBe(columns)
      columns = bars
    }
    expect(markdown).not.toMatch(/<(?!2s)[a-z!/]/i)
    expect(markdown).not.toMatch(/(?<!\\)\]\(/)
  })
})
