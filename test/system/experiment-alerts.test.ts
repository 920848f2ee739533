// part: experiments
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ExperimentStage } from '../../packages/experiments/test/experiment/stage.ts'
import { eventually } from '../support/eventually.ts'
import { type Program, startProgram, startSquall } from '../support/commands.ts'
import { type Prometheus, startPrometheus } from '../support/cluster.ts'
import { PATIENCE } from './patience.ts'

// A real Prometheus scrapes Squall each second, and sends its alerts to a real Alertmanager.

const ERRORS = 'sum(rate(squall_errors_total{origin="injected"}[4s]))'
const RULES = `groups:
  - name: mcp
    rules:
      - { alert: McpErrorsHigh, expr: '${ERRORS} > 1', labels: { severity: page } }
      - { alert: McpErrorsTooHighToSee, expr: '${ERRORS} > 1000' }
      - { alert: McpErrorsLate, expr: '${ERRORS} > 1', for: 8s }
`

let directory: string
let stage: ExperimentStage
let alertmanager: Program
let address: string
let prometheus: Prometheus

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-alerts-'))
  const at = (name: string): string => join(directory, name)
  await writeFile(at('rules.yml'), RULES)
  await writeFile(at('am.yml'), 'route: { receiver: none }\nreceivers: [{ name: none }]\n')
  stage = await startSquall({ experiment: {} })
  const places = ['--web.listen-address=127.0.0.1:0', '--cluster.listen-address=']
  const files = [`--config.file=${at('am.yml')}`, `--storage.path=${at('data')}`]
  const program = 'prometheus-alertmanager'
  alertmanager = startProgram([...files, ...places], {}, { program })
  await eventually(() => {
    address = /msg="Listening on" address=(\S+)/.exec(alertmanager.stderr())?.[1] ?? ''
    return address === '' ? `Alertmanager does not listen: ${alertmanager.stderr()}` : undefined
  }, PATIENCE)
  const targets = [{ address: new URL(stage.squall.admin).host, labels: {} }]
  prometheus = await startPrometheus(targets, [at('rules.yml')], '1s', undefined, address)
})

afterAll(async () => {
  await prometheus?.close()
  await alertmanager?.kill()
  await stage?.close()
  await rm(directory, { recursive: true, force: true })
})

/** The alerts of the experiment before have resolved, in Alertmanager too. */
beforeEach(async () => {
  await eventually(async () => {
    const found = (await (await fetch(`http://${address}/api/v2/alerts`)).json()) as object[]
    const series = await prometheus.instant('ALERTS')
    return found.length + series.length === 0 ? undefined : `${JSON.stringify(found)} are left`
  }, PATIENCE)
})

function expects(alert: object, hold = '2s'): Readonly<Record<string, unknown>> {
  const steadyState = { errors: '1%', for: '1s', within: '30s' }
  return { hold, steadyState, load: { rate: 60 }, expect: { alert } }
}

test.each(['alertmanager', 'prometheus'])(
  'an alert that fires and resolves is noticed, by %s',
  async (kind) => {
    const url = kind === 'prometheus' ? prometheus.url : `http://${address}`
    const labels = { severity: 'page' }
    const alert = { name: 'McpErrorsHigh', labels, within: '30s', resolved: '40s', [kind]: url }
    const result = await stage.run(expects(alert))
    expect(result, result.why).toMatchObject({ verdict: 'passed', code: null, restored: true })
    const [found] = result.alerts
    expect(found!.mttdMs).toBeGreaterThan(500)
    expect(found!.mttdMs).toBeLessThan(30_000)
    expect(found!.mttrMs).toBeGreaterThan(found!.mttdMs!)
    // Both programs have the clock of this machine.
    const [first] = result.stages
    const startsAt = Date.parse(found!.startsAt!)
    expect(startsAt).toBeGreaterThan(Date.parse(first!.startedAt))
    expect(startsAt).toBeLessThan(Date.parse(first!.startedAt) + found!.mttdMs! + 2000)
  },
)

test('a threshold that the errors do not reach leaves the faults unnoticed', async () => {
  const alert = { name: 'McpErrorsTooHighToSee', within: '8s', alertmanager: `http://${address}` }
  const result = await stage.run(expects(alert))
  expect(result).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED', steadyAfter: true })
  expect(result.stages[0]!.applied).toBeGreaterThan(10)
  // Timers may fire a moment early.
  expect(result.stages[0]!.durationMs).toBeGreaterThan(7900)
})

test('an alert that waits longer than its time limit leaves the faults unnoticed', async () => {
  const alert = { name: 'McpErrorsLate', within: '4s', alertmanager: `http://${address}` }
  const result = await stage.run(expects(alert, '25s'))
  expect(result).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED' })
  expect(result.alerts[0]!.mttdMs).toBeGreaterThan(8000)
})
