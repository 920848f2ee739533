// part: experiments
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Program, type Squall, startProgram, startSquall } from '../support/commands.ts'
import { type Prometheus, startPrometheus } from '../support/cluster.ts'
import { againAfterStall } from '../support/stalls.ts'
import { PATIENCE } from './patience.ts'
import { runReady } from './ready-plan.ts'
import { type RestartingServer, startRestarting } from './restarting-server.ts'

// The ready plans that expect an alert, with a real Prometheus and a real Alertmanager, and the example of alerts
// with shorter windows.

const EXAMPLE = new URL('../../deploy/prometheus/experiments.example.yml', import.meta.url)

let directory: string
let server: RestartingServer
let squall: Squall
let alertmanager: Program
let address: string
let prometheus: Prometheus

const at = (name: string): string => join(directory, name)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-ready-'))
  server = await startRestarting(at('server.pid'))
  await writeFile(at('rules.yaml'), 'rules: []\n')
  const upstream = ['--upstream', `http://127.0.0.1:${server.port}`]
  const flags = ['--environment', 'staging', '--guard-error-rate', 'off']
  squall = await startSquall(...upstream, '--rules', at('rules.yaml'), ...flags)
  const alerts = (await readFile(EXAMPLE, 'utf8'))
    .replaceAll('[1m]', '[5s]')
    .replaceAll('[1h] offset 5m', '[20s] offset 8s')
    // The usual latency is a few milliseconds, which a busy machine doubles by itself.
    .replace('> 2 *', '> 20 *')
  await writeFile(at('rules.yml'), alerts)
  await writeFile(at('am.yml'), 'route: { receiver: none }\nreceivers: [{ name: none }]\n')
  const program = 'prometheus-alertmanager'
  const places = ['--web.listen-address=127.0.0.1:0', '--cluster.listen-address=']
  const files = [`--config.file=${at('am.yml')}`, `--storage.path=${at('data')}`]
  alertmanager = startProgram([...files, ...places], {}, { program })
  await eventually(() => {
    address = /msg="Listening on" address=(\S+)/.exec(alertmanager.stderr())?.[1] ?? ''
    return address === '' ? `Alertmanager does not listen: ${alertmanager.stderr()}` : undefined
  }, PATIENCE)
  const targets = [{ address: new URL(squall.admin).host, labels: {} }]
  prometheus = await startPrometheus(targets, [at('rules.yml')], '1s', undefined, address)
})

afterAll(async () => {
  await prometheus?.close()
  await alertmanager?.kill()
  await squall?.close()
  await server?.close()
  await rm(directory, { recursive: true, force: true })
})

/** Begins without alerts. */
function attempted(body: () => Promise<void>): () => Promise<void> {
  return () =>
    againAfterStall(async () => {
      server.pauseMs = 5000
      await eventually(async () => {
        const found = (await (await fetch(`http://${address}/api/v2/alerts`)).json()) as object[]
        const series = await prometheus.instant('ALERTS')
        return found.length + series.length === 0 ? undefined : `${JSON.stringify(found)} are left`
      }, PATIENCE)
      await body()
    })
}

function run(name: string, changes: Readonly<Record<string, unknown>>, within = '20s') {
  const addresses = {
    'http://localhost:15300': `http://127.0.0.1:${squall.port}`,
    'http://127.0.0.1:15390': squall.admin,
    'http://localhost:9093': `http://${address}`,
    'within: 2m, resolved: 5m': `within: ${within}, resolved: 60s`,
  }
  return runReady(name, addresses, directory, changes)
}

const TRIES_MS = 900_000
const KILL = { hold: '10s', steadyState: { for: '2s', within: '30s' }, abortOn: { errors: '100%' } }
const SLOW = { hold: '6s', stages: ['10%', '25%'], steadyState: { for: '15s', within: '90s' } }

test(
  'process-kill passes when the server restarts, and its alert fires and resolves',
  attempted(async () => {
    const result = await run('process-kill', { ...KILL, slo: { success: '10%' } })
    expect(result, result.why).toMatchObject({ verdict: 'passed', code: null, restored: true })
    expect(result.stages[0]!.restartMs).toBeGreaterThanOrEqual(4900)
    const [alert] = result.alerts
    expect(alert!.mttrMs).toBeGreaterThan(alert!.mttdMs!)
    const kinds = result.stages[0]!.load!.errors.map(({ origin, code }) => `${origin} ${code}`)
    expect(kinds).toContain('squall 502')
  }),
  TRIES_MS,
)

test(
  'process-kill fails when the server restarts too late',
  attempted(async () => {
    server.pauseMs = 8000
    const result = await run('process-kill', { ...KILL, kill: { restartWithin: '2s' } })
    expect(result, result.why).toMatchObject({ verdict: 'failed', code: 'NOT_RESTARTED' })
  }),
  TRIES_MS,
)

test(
  'latency passes when the alert on twice the usual p95 fires and resolves',
  attempted(async () => {
    const result = await run('latency', SLOW)
    expect(result, result.why).toMatchObject({ verdict: 'passed', code: null, restored: true })
    expect(result.alerts[0]!.mttdMs).toBeGreaterThan(0)
    const [first] = result.stages.map(({ load }) => load!.faults[0]!.latency.summary)
    expect(first!.min).toBeGreaterThanOrEqual(1990)
    expect(first!.max).toBeLessThan(12_000)
  }),
  TRIES_MS,
)

test(
  'latency is unnoticed when the delays are too seldom for the alert',
  attempted(async () => {
    const rare = { load: { rate: 20, fanOut: 1 }, stages: ['1%'], hold: '12s', seed: 43 }
    const result = await run('latency', { ...SLOW, ...rare, slo: undefined }, '8s')
    expect(result, result.why).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED' })
  }),
  TRIES_MS,
)
