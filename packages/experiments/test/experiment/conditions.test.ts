// part: slow
import type { RequestListener } from 'node:http'
import { cpus } from 'node:os'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { noteLines } from '../../src/experiment/experiment-report.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { problemLines } from '../../../../src/rules/file/problem.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import type { Changes, ExperimentStage } from './stage.ts'

let stage: ExperimentStage
let observed: { readonly url: string; respond: RequestListener; close(): Promise<void> }

const healthy: RequestListener = (_, res) => void res.end('{"status":"ready"}')
const unhealthy: RequestListener = (_, res) => void res.writeHead(503).end('{"status":"ready"}')

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
  const { port, close } = await startUpstream((req, res) => observed.respond(req, res))
  observed = { url: `http://127.0.0.1:${port}`, respond: healthy, close }
})

afterEach(async () => {
  await observed.close()
  await stage.close()
})

/** Responds as Prometheus with these values of a vector. */
function values(...numbers: readonly string[]): RequestListener {
  const result = numbers.map((number) => ({ metric: {}, value: [0, number] }))
  const data = { resultType: 'vector', result }
  return (_, res) => void res.end(JSON.stringify({ status: 'success', data }))
}

/** Changes the response when the first stage begins. */
function inStage(respond: RequestListener): (event: ExperimentEvent) => void {
  return (event) => {
    if (event.kind === 'phase' && event.stage !== undefined) observed.respond = respond
    if (event.kind === 'seen') observed.respond = healthy
  }
}

const LONG = { hold: '20s' }
const usual = (abortOn: object): Changes => ({
  ...LONG,
  abortOn: { errors: undefined, ...abortOn },
})

/** Why the experiment is rejected. */
async function reasons(changes: Changes): Promise<string> {
  try {
    await stage.run(changes)
  } catch (error) {
    if (error instanceof RejectedError) return error.message
    throw error
  }
  return ''
}

test('a health endpoint that fails in a stage ends the experiment', async () => {
  const health = { url: observed.url, body: '"ready"' }
  const onEvent = inStage(unhealthy)
  const result = await stage.run(usual({ health: { ...health, for: '500ms' } }), { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION', restored: true })
  const measure = `health ${observed.url} body "\\"ready\\""`
  expect(result.why).toBe(`${measure} for 500ms: it is met by 0 % of the responses`)
  expect(result.failedGate).toEqual({ gate: `${measure} for 500ms`, measure, measured: 0 })
  expect(noteLines(result).join('\n')).toContain(
    `Conditions of "before": ${measure} met by 100 % of the responses.`,
  )
})

test.each([
  ['status', { status: 201 }],
  ['text in the body', { body: 'unready' }],
  ['match in the body', { body: { regex: '^ready' } }],
])('a health endpoint without the expected %s is no steady state', async (_, expected) => {
  const health = { url: observed.url, ...expected }
  expect(await reasons({ steadyState: { health } })).toMatch(
    /^NOT_STEADY: .* is met by 0 % of the responses;/,
  )
})

test('health endpoints with the expected status and bodies are a steady state', async () => {
  const url = observed.url
  const health = [{ url }, { url, body: 'ready' }, { url, body: { regex: '"status": ?"r' } }]
  const result = await stage.run({ hold: '300ms', steadyState: { health } })
  expect(result).toMatchObject({ verdict: 'passed', steadyAfter: true })
  expect(Object.values(result.after!.measured).filter((value) => value === 1)).toHaveLength(4)
})

test('a health endpoint that fails after the stages is no steady state', async () => {
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'rolled-back') observed.respond = unhealthy
  }
  const steadyState = { health: { url: observed.url }, for: '2s', within: '4s' }
  const result = await stage.run({ hold: '300ms', steadyState }, { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'NOT_RECOVERED' })
})

test('a query beyond its bound ends the experiment', async () => {
  observed.respond = values('0.2')
  const promql = { url: observed.url, query: 'sum(rate(errors[1m]))', max: 0.5 }
  const onEvent = inStage(values('0.75'))
  const result = await stage.run(usual({ promql }), { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION' })
  const host = new URL(observed.url).host
  expect(result.why).toBe(`promql ${host}: sum(rate(errors[1m])) >0.5: it is 0.75`)
})

test.each<readonly [string, RequestListener, string]>([
  ['no value', values(), 'NOT_STEADY'],
  ['no number', values('NaN'), 'NOT_STEADY'],
  ['too low a value', values('0.5'), 'NOT_STEADY'],
  ['two series', values('1', '2'), 'MONITOR_UNREACHABLE'],
  ['no result', healthy, 'MONITOR_UNREACHABLE'],
  ['an error', (_, res) => void res.writeHead(400).end(), 'MONITOR_UNREACHABLE'],
])('a query with %s is no steady state', async (_, respond, code) => {
  observed.respond = respond
  const promql = { url: observed.url, query: 'up', min: 1 }
  expect(await stage.rejected({ steadyState: { promql } })).toEqual([code])
})

test('a query that can no longer be asked makes the result inconclusive', async () => {
  observed.respond = values('0')
  const onEvent = inStage((_, res) => void res.writeHead(500).end())
  const promql = { url: observed.url, query: 'up', max: 1 }
  const result = await stage.run(usual({ promql }), { onEvent, monitorLostMs: 1200 })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'MONITOR_LOST', restored: true })
})

test('a query that loses its value after the stages is not a steady state', async () => {
  observed.respond = values('0')
  let isAfter = false
  const onEvent = (event: ExperimentEvent): void => {
    isAfter ||= event.kind === 'rolled-back'
    if (isAfter && event.kind === 'moment' && event.elapsedMs > 1_000) observed.respond = values()
  }
  const promql = { url: observed.url, query: 'up', max: 1 }
  const steadyState = { promql, for: '3s', within: '6s' }
  const result = await stage.run({ hold: '300ms', steadyState }, { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'NOT_RECOVERED' })
})

test('the uptime is the share of sessions that list the tools', async () => {
  const faults = [{ abort: { status: 503 } }]
  const rules = [{ name: 'away', match: { method: 'initialize' }, faults }]
  // With this seed the first nine sessions begin, so that the load does.
  const result = await stage.run({ ...usual({ uptime: '95%' }), rules, stages: ['25%'], seed: 3 })
  expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION' })
  expect(result.failedGate!.gate).toBe('uptime <95%')
  expect(result.failedGate!.measured).toBeLessThan(0.95)
  expect(result.before.measured.uptime).toBe(1)
})

test('CPU and memory of the host are conditions', async () => {
  const busy = new Worker('for (;;) {}', { eval: true })
  onTestFinished(async () => void (await busy.terminate()))
  const passed = await stage.run({
    hold: '300ms',
    steadyState: { memory: '100%' },
    abortOn: { cpu: { limit: '100%', for: '1m' } },
  })
  expect(passed.verdict).toBe('passed')
  const { cpu, memory } = passed.before.measured
  expect(memory).toBeGreaterThan(0.001)
  expect(memory).toBeLessThan(1)
  expect(cpu).toBeGreaterThan(0.5 / cpus().length)
  expect(cpu).toBeLessThanOrEqual(1)
  expect(await reasons({ steadyState: { memory: 0 } })).toMatch(
    /memory is .* %, but must be at most 0 %/,
  )
})

test('a latency above a multiple of that before the stages ends the experiment', () =>
  againAfterStall(async () => {
    const rules = [{ name: 'slow', match: { tool: 'work' }, faults: [{ delay: { fixed: '3s' } }] }]
    const asked = { ...usual({ p95: '3x' }), rules, stages: ['25%'] }
    const result = await stage.run({ ...asked, load: { clients: 20 } })
    expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION' })
    const p95 = result.before.measured.p95!
    expect(result.failedGate!.gate).toMatch(/^p95 >3x \(of [\d.]+ ms\)$/)
    expect(result.failedGate!.measured).toBeGreaterThan(3 * p95)
  }))

test.each([
  ['abortOn: { p95: 1x }', '10:17: abortOn.p95: '],
  ['abortOn: { p95: 2x, health: { status: 200 } }', '10:29: abortOn.health: `url` is missing'],
  ['abortOn: { health: { url: ftp://x } }', '10:27: abortOn.health.url: must be a URL'],
  [
    'abortOn: { promql: [{ url: http://x, query: up }] }',
    '10:21: abortOn.promql[0]: needs `max` or `min`',
  ],
  [
    'abortOn: { promql: { url: http://u:p@x, query: up, max: 1 } }',
    'a plan must not contain a password',
  ],
  ['abortOn: { health: { url: http://x, body: { regex: "(" } } }', 'abortOn.health.body.regex: '],
  ['abortOn: { upTime: 1% }', 'unknown key "upTime"; did you mean `uptime`?'],
  ['expect: { alert: { name: x } }', 'expect.alert: needs either `alertmanager` or `prometheus`'],
  [
    'expect: { alert: { name: x, prometheus: http://x, alertmanager: http://x } }',
    'expect.alert: needs either `alertmanager` or `prometheus`',
  ],
  ['expect: { alert: [{ prometheus: http://x }] }', 'expect.alert[0]: `name` is missing'],
])('%s is rejected', async (written, complaint) => {
  const text = `name: x
target: { url: http://localhost:8080/mcp, environment: staging }
sidecar: { admin: http://127.0.0.1:15390, rulesFile: rules.yaml }
steadyState: { errors: 1% }
rules:
  - name: slow
    match: { tool: search_docs }
    faults: [delay: { fixed: 2s }]
stages: [10%]
${written}
`
  const readText = (): Promise<string> => Promise.reject(new Error('no file is named'))
  const read = await readPlan(text, { file: 'plan.yaml', directory: '/nowhere', readText })
  expect(read.ok ? '' : read.problems.map(problemLines).join('')).toContain(complaint)
})

test('an expected status is reported by its share of the responses, not as failing', async () => {
  const health = { url: observed.url, status: 503 }
  const onEvent = inStage(unhealthy)
  const result = await stage.run({ hold: '2s', expect: { during: { health } } }, { onEvent })
  expect(result, result.why).toMatchObject({ verdict: 'passed' })
  const [before, during] = noteLines(result).filter((line) => line.includes('status 503'))
  expect(before).toContain('status 503 met by 0 % of the responses.')
  expect(during).toMatch(/status 503 met by [1-9][\d.]* % of the responses\.$/)
})
