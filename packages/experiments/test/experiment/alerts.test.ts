// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { experimentMarkdown, noteLines } from '../../src/experiment/experiment-report.ts'
import { AlertWatch } from '../../src/experiment/monitor/alert-watch.ts'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import { FIRING, type Monitor, PENDING, STARTS, startMonitor } from './monitor.ts'
import type { ExperimentStage } from './stage.ts'

let stage: ExperimentStage
let monitor: Monitor

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
  monitor = await startMonitor()
})

afterEach(async () => {
  await monitor.close()
  await stage.close()
})

/** A plan that expects the alert. */
function expects(changes: object = {}, more: object = {}): Readonly<Record<string, unknown>> {
  const alert = { name: 'McpErrorsHigh', within: '2s', alertmanager: monitor.url, ...changes }
  return { hold: '300ms', expect: { alert }, ...more }
}

/** Changes the alerts some time after an event. */
function alertsAfter(
  wanted: (event: ExperimentEvent) => boolean,
  alerts: readonly object[],
  ms = 0,
): (event: ExperimentEvent) => void {
  let seen = false
  return (event) => {
    if (seen || !wanted(event)) return
    seen = true
    setTimeout(() => (monitor.alerts = alerts), ms)
  }
}

const inStage = (event: ExperimentEvent): boolean =>
  event.kind === 'phase' && event.stage !== undefined
const rolledBack = ({ kind }: ExperimentEvent): boolean => kind === 'rolled-back'

test.each(['alertmanager', 'prometheus'])(
  'an alert in %s that fires and resolves in time is noticed',
  async (kind) => {
    const own = { within: '20s', resolved: '20s' }
    const changes = { alertmanager: undefined, [kind]: monitor.url, ...own }
    const fires = alertsAfter(inStage, [FIRING], 500)
    const resolves = alertsAfter(rolledBack, [], 200)
    const onEvent = (event: ExperimentEvent): void => [fires, resolves].forEach((on) => on(event))
    const result = await stage.run(expects(changes), { onEvent })
    expect(result).toMatchObject({ verdict: 'passed', code: null, restored: true })
    const [alert] = result.alerts
    expect(alert).toMatchObject({ name: 'McpErrorsHigh', monitor: kind, startsAt: STARTS })
    // The alert fired after 500 ms, and is asked for once a second.
    expect(alert!.mttdMs).toBeGreaterThanOrEqual(500)
    expect(alert!.mttdMs).toBeLessThan(10_000)
    expect(alert!.mttrMs).toBeGreaterThan(alert!.mttdMs!)
    // The stage waited for the alert, and no longer.
    expect(result.stages[0]!.durationMs).toBeGreaterThanOrEqual(500)
    expect(result.stages[0]!.durationMs).toBeLessThan(10_000)
    expect(experimentMarkdown(result)).toContain(`McpErrorsHigh" (${kind}): fired`)
  },
)

test('an alert that does not fire is the verdict, although the target held', async () => {
  const result = await stage.run(expects())
  expect(result).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED', stage: '20%' })
  expect(result.why).toBe('the alert "McpErrorsHigh" did not fire within 2s')
  expect(result).toMatchObject({ steadyAfter: true, restored: true })
  expect(result.stages[0]!.durationMs).toBeGreaterThanOrEqual(2000)
  expect(result.alerts[0]).toMatchObject({ mttdMs: null, mttrMs: null, startsAt: null })
  expect(noteLines(result).join('\n')).toContain('did not fire before the end; the limit is 2 s')
})

test('an alert that fires too late is not noticed', () =>
  againAfterStall(async () => {
    monitor.alerts = []
    const steadyState = { for: '4s' }
    const onEvent = alertsAfter(inStage, [FIRING], 2300)
    const result = await stage.run(expects({ within: '1s' }, { steadyState }), { onEvent })
    expect(result).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED' })
    expect(result.alerts[0]!.mttdMs).toBeGreaterThanOrEqual(2000)
  }))

test('an alert that fires in an earlier stage is noticed', async () => {
  const onEvent = alertsAfter(inStage, [FIRING])
  const stages = ['10%', '20%']
  const result = await stage.run(expects({ within: '20s' }, { stages, hold: '1500ms' }), {
    onEvent,
  })
  expect(result).toMatchObject({ verdict: 'passed' })
  expect(result.alerts[0]!.mttdMs).toBeLessThan(10_000)
})

test('an alert that does not resolve fails the experiment', async () => {
  const onEvent = alertsAfter(inStage, [FIRING])
  const result = await stage.run(expects({ resolved: '1s' }), { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'NOT_RESOLVED', steadyAfter: true })
  expect(result.alerts[0]!.mttrMs).toBeNull()
})

test('a failed gate and a missing alert are both named', async () => {
  const result = await stage.run(expects({}, { slo: { success: '99.9%' } }))
  expect(result).toMatchObject({ verdict: 'unnoticed', code: 'UNNOTICED' })
  expect(result.why).toMatch(/did not fire within 2s; success.*failed/)
})

test('a stage that ends before the time limit of the alert says nothing about the alert', async () => {
  const result = await stage.run(expects({ within: '30s' }, { abortOn: { errors: '1%' } }))
  expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION' })
  expect(result.alerts[0]!.mttdMs).toBeNull()
})

test('labels select the alert, and the list of alerts must fire completely', async () => {
  const { expect: one } = expects({ labels: { namespace: 'shop' } }) as {
    expect: { alert: object }
  }
  const other = { ...one.alert, labels: { namespace: 'elsewhere' } }
  const onEvent = alertsAfter(inStage, [FIRING])
  const list = { expect: { alert: [one.alert, other] }, hold: '300ms' }
  const result = await stage.run(list, { onEvent })
  expect(result.verdict).toBe('unnoticed')
  expect(result.alerts.map(({ mttdMs }) => mttdMs === null)).toEqual([false, true])
})

test('silenced alerts are not asked for, and the token is sent but not stored', async () => {
  const monitorHeaders = { authorization: 'Bearer very-secret' }
  const onEvent = alertsAfter(inStage, [FIRING])
  const result = await stage.run(expects(), { onEvent, monitorHeaders })
  const [first] = monitor.requests
  const { pathname, searchParams } = new URL(first!.url, 'http://monitor')
  expect(pathname).toBe('/base/api/v2/alerts')
  expect(Object.fromEntries(searchParams)).toEqual({
    active: 'true',
    silenced: 'false',
    inhibited: 'false',
    filter: 'alertname="McpErrorsHigh"',
  })
  const sent = monitor.requests.map(({ authorization }) => authorization)
  expect(new Set(sent)).toEqual(new Set(['Bearer very-secret']))
  expect(JSON.stringify(result)).not.toContain('very-secret')
})

test.each([
  ['fires', 'alertmanager', FIRING],
  ['fires', 'prometheus', FIRING],
  ['is pending', 'prometheus', PENDING],
] as const)(
  'an alert that %s before the experiment is rejected, from %s',
  async (_, kind, found) => {
    monitor.alerts = [found]
    const changes = { alertmanager: undefined, [kind]: monitor.url }
    expect(await stage.rejected(expects(changes))).toEqual(['ALERT_ALREADY_FIRES'])
  },
)

test('an alert that begins to fire in the steady state before the stages is rejected', async () => {
  const before = (event: ExperimentEvent): boolean => event.kind === 'phase'
  const onEvent = alertsAfter(before, [FIRING])
  expect(await stage.rejected(expects(), { onEvent })).toEqual(['ALERT_ALREADY_FIRES'])
})

test.each<readonly [string, RequestListener]>([
  ['status 401', (_, res) => res.writeHead(401).end()],
  ['a redirect', (_, res) => res.writeHead(302, { location: '/' }).end()],
  ['no JSON', (_, res) => res.end('<html>')],
  ['another API', (_, res) => res.end('{"data":{}}')],
  ['over 4194304 bytes', (_, res) => res.end(`"${'x'.repeat(5_000_000)}"`)],
  ['a reset', (_, res) => res.destroy()],
])('a monitoring system that responds with %s is rejected', async (_, respond) => {
  monitor.respond = respond
  expect(await stage.rejected(expects())).toEqual(['MONITOR_UNREACHABLE'])
  const prometheus = { alertmanager: undefined, prometheus: monitor.url }
  expect(await stage.rejected(expects(prometheus))).toEqual(['MONITOR_UNREACHABLE'])
})

test('a monitoring system that no longer responds makes the result inconclusive', async () => {
  const onEvent = (event: ExperimentEvent): void => {
    if (inStage(event)) monitor.respond = (_, res) => void res.writeHead(503).end()
  }
  const asked = expects({ within: '30s' })
  const result = await stage.run(asked, { onEvent, monitorLostMs: 1500 })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'MONITOR_LOST', restored: true })
  expect(result.why).toContain('status 503')
})

test('a monitoring system that does not respond when the time is over leaves the verdict open', async () => {
  const onEvent = (event: ExperimentEvent): void => {
    if (inStage(event)) monitor.respond = (_, res) => void res.writeHead(503).end()
  }
  const result = await stage.run(expects({ within: '1s' }), { onEvent, monitorLostMs: 1500 })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'MONITOR_LOST' })
})

test('a stage that ends a moment before the time limit, and one failed request, leave no doubt', async () => {
  const spec = { name: 'McpErrorsHigh', labels: {}, withinMs: 150, resolvedMs: undefined }
  const place = { monitor: 'alertmanager', url: new URL(monitor.url) } as const
  const watch = new AlertWatch([{ ...spec, ...place }], {})
  const began = performance.now()
  // As when a timer has fired early.
  await watch.look()
  monitor.respond = (_, res) => {
    if (performance.now() > began + 150) monitor.respond = undefined
    res.writeHead(503).end()
  }
  await watch.decide(began, new AbortController().signal)
  expect(watch.unnoticed(began)).toMatchObject({ code: 'UNNOTICED' })
})

test('the command reads the token from a file or a variable, and the file has precedence', async () => {
  monitor.alerts = [FIRING]
  const at = (name: string): string => join(stage.directory, name)
  await writeFile(at('plan.yaml'), stage.text(expects()))
  await writeFile(at('token'), 'of-the-file\n')
  const run = ['experiment', 'run', at('plan.yaml'), '--json', '--state-dir', at('state')]
  const env = { SQUALL_MONITOR_TOKEN: 'of-the-variable' }
  for (const flags of [[], ['--monitor-token-file', at('token')]]) {
    const { code, stdout } = await startProgram([...run, ...flags], env, { here: true })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ rejected: [{ code: 'ALERT_ALREADY_FIRES' }] })
  }
  const sent = monitor.requests.map(({ authorization }) => authorization)
  expect(sent).toEqual(['Bearer of-the-variable', 'Bearer of-the-file'])
})
