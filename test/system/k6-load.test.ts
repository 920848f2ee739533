// part: clients
// k6 runs the script of the examples through Squall, with each protocol version that it knows.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { metricBecomes, startSidecar, startUpstream } from '../support/wire.ts'
import { systemTool } from './tools.ts'

const open = closers()
const run = promisify(execFile)
const HALF = oneFault(
  "abort: { toolError: 'echo is down' }",
  'match: { tool: echo }\n    percent: 50',
)
/** The exit code of k6 where a threshold was crossed. */
const CROSSED = 99

interface Point {
  readonly metric: string
  readonly type: string
  readonly data: { readonly value: number; readonly tags: Readonly<Record<string, string>> }
}

/** Runs k6 for two seconds; returns its exit code and a function that adds up a metric. */
async function runK6(environment: Readonly<Record<string, string>>) {
  const directory = await mkdtemp(join(tmpdir(), 'squall-k6-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'points.json')
  const all = { VUS: '2', RAMP: '1s', DURATION: '1s', CALLS: '5', ...environment }
  const settings = Object.entries(all).flatMap(([name, value]) => ['-e', `${name}=${value}`])
  const script = join(ROOT, 'deploy/examples/k6/load.js')
  const args = ['run', '--quiet', '--no-usage-report', '--out', `json=${file}`, ...settings, script]
  const code = await run(systemTool('bin/k6', 'k6'), args).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  )
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const points = lines
    .map((line) => JSON.parse(line) as Point)
    .filter(({ type }) => type === 'Point')
  const sum = (metric: string, outcome?: string): number =>
    points
      .filter((each) => each.metric === metric && each.data.tags['outcome'] === outcome)
      .reduce((total, { data }) => total + data.value, 0)
  return { code, sum }
}

it.each(['2025-06-18', '2026-07-28'])('k6 loads a tool with protocol %s', async (protocol) => {
  const server = open(await startUpstream('modern'))
  const squall = open(await startSidecar({ upstream: server.origin, rules: [HALF] }))
  const { code, sum } = await runK6({
    TARGET: `${squall.url}/mcp`,
    TOOL: 'echo',
    ARGS: '{"message":"x"}',
    PROTOCOL: protocol,
  })

  const failed = sum('mcp_outcomes', 'tool_error')
  expect(failed).toBeGreaterThan(0)
  expect(sum('mcp_outcomes', 'ok')).toBeGreaterThan(0)
  expect(sum('mcp_injected')).toBe(failed)
  expect(code).toBe(CROSSED)
  expect(await metricBecomes(squall, failed, 'squall_errors_total', { origin: 'injected' })).toBe(
    failed,
  )

  const calls = server.requests.take(server.url).filter(({ headers }) => 'mcp-method' in headers)
  if (protocol === '2025-06-18') return expect(calls).toEqual([])
  expect(calls.length).toBeGreaterThan(0)
  for (const { headers } of calls) {
    expect(headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'echo' })
    expect(headers).not.toHaveProperty('mcp-session-id')
  }
})

it('passes a load whose errors are all injected, by the counts of the sidecars', async () => {
  const server = open(await startUpstream('modern'))
  const rules = join(await mkdtemp(join(tmpdir(), 'squall-k6-')), 'rules.yaml')
  const rule =
    "name: half, match: { tool: echo }, percent: 50, faults: [{ abort: { toolError: 'no' } }]"
  await writeFile(rules, `rules: [{ ${rule} }]`)
  const squall = open(await startSquall('--upstream', server.origin, '--rules', rules))
  const load = (tool: string) =>
    runK6({
      TARGET: `http://127.0.0.1:${squall.port}/mcp`,
      TOOL: tool,
      ARGS: '{"message":"x"}',
      PROTOCOL: '2026-07-28',
      MIN_RESPONDED: '0',
      SIDECARS: squall.admin,
    })
  const injected = await load('echo')
  expect(injected.sum('mcp_outcomes', 'tool_error')).toBeGreaterThan(0)
  expect([injected.code, injected.sum('squall_real_errors')]).toEqual([0, 0])
  const real = await load('missing')
  expect([real.code, real.sum('squall_real_errors')]).toEqual([CROSSED, 1])
})
