import { expect, it, onTestFinished } from 'vitest'
import { call, callMessage, startUpstream } from '../support/wire.ts'
import { portOf, startProgram } from '../support/commands.ts'
import { mountRules } from '../live/rules-directory.ts'
import { type Family, parseExposition } from './exposition.ts'

const TOOLS = Array.from({ length: 20 }, (_, at) => `tool_${at}`)
const FAULTS = [
  'delay: { fixed: 1ms }',
  'delay: { fixed: 2ms }',
  'abort: { status: 503 }',
  'abort: { toolError: no }',
  'truncate: { content: { chars: 2 } }',
]
// Each rule acts on every tool, which makes the most series.
const RULES = `seed: 1\nrules:\n${FAULTS.map(
  (fault, at) =>
    `  - { name: rule-${at}, match: { tool: '*' }, percent: 20, faults: [${fault}] }\n`,
).join('')}`
const ROUNDS = 12
const CALLS = ROUNDS * TOOLS.length

/** Starts the program in front of 20 tools, calls each, and returns its metrics. */
async function metricsOf(...flags: readonly string[]): Promise<Map<string, Family>> {
  const app = await startUpstream((req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const { id } = JSON.parse(body) as { id: number }
      const content = [{ type: 'text', text: 'a result with some words' }]
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content, isError: id % 7 === 0 } }))
    })
  })
  onTestFinished(() => app.close())
  const mounted = await mountRules(RULES)
  onTestFinished(() => mounted.remove())
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--upstream', app.url]
  const program = startProgram(['run', ...places, '--rules', mounted.file, ...flags])
  onTestFinished(() => program.kill())
  const admin = `127.0.0.1:${portOf(await program.logged('admin listening'))}`
  const place = { port: portOf(await program.logged('listening')), host: '127.0.0.1' }
  for (let id = 1; id <= CALLS; id++) {
    await call(place, callMessage(id, TOOLS[id % TOOLS.length]))
  }
  return parseExposition(await (await fetch(`http://${admin}/metrics`)).text())
}

function seriesOf(families: ReadonlyMap<string, Family>): number {
  return [...families.values()].reduce((sum, { lines }) => sum + lines.length, 0)
}

/** Sums up the lines of a metric with a tool; `part` is the suffix of a histogram's line. */
function totalOf(families: ReadonlyMap<string, Family>, name: string, part = ''): number {
  const lines = families.get(name)!.lines.filter((line) => line.name === `${name}${part}`)
  return lines.reduce((sum, { value }) => sum + value, 0)
}

it('makes at most 500 series for 20 tools and 5 rules, and all with full detail', async () => {
  const [basic, full] = await Promise.all([metricsOf(), metricsOf('--metrics-detail', 'full')])
  expect(seriesOf(basic)).toBeLessThanOrEqual(500)
  expect(seriesOf(full)).toBeGreaterThan(1500)
  for (const families of [basic, full]) {
    const tools = families.get('squall_calls_total')!.lines.map(({ labels }) => labels['tool'])
    expect(new Set(tools)).toEqual(new Set(TOOLS))
    expect(totalOf(families, 'squall_calls_total')).toBe(CALLS)
    expect(totalOf(families, 'squall_call_duration_seconds', '_count')).toBe(CALLS)
  }
  // The same seed: what was sampled, and so each total, is the same.
  for (const [name, part] of [
    ['squall_upstream_duration_seconds', '_count'],
    ['squall_result_bytes', '_sum'],
    ['squall_result_bytes', '_count'],
    ['squall_injected_delay_seconds', '_count'],
    ['squall_faults_injected_total', ''],
    ['squall_after_fault_total', ''],
  ] as const) {
    expect(totalOf(basic, name, part), name).toBe(totalOf(full, name, part))
  }
}, 60_000)

it('keeps the bounds of deadlines and alerts', async () => {
  const families = await metricsOf()
  const bounds = (name: string): (string | undefined)[] =>
    families.get(name)!.lines.map(({ labels }) => labels['le'])
  const deadlines = ['1', '2.5', '5', '10', '30', '+Inf']
  expect(bounds('squall_call_duration_seconds')).toEqual(expect.arrayContaining(deadlines))
  expect(bounds('squall_overhead_seconds')).toEqual(
    expect.arrayContaining(['0.0025', '0.005', '0.01']),
  )
  const { lines } = families.get('squall_call_duration_seconds')!
  expect(new Set(lines.map(({ labels }) => labels['tool']))).toEqual(new Set(['*']))
})
