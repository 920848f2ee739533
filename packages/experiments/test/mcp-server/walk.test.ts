// part: slow
import { expect, it } from 'vitest'
import { planSections } from '../../src/mcp-server/plan-help.ts'
import type { ToolResult } from './agent.ts'
import { agentOf, eachOnStage, stage } from './on-stage.ts'

/** A token is about four characters. */
const tokens = (value: unknown): number =>
  (typeof value === 'string' ? value : JSON.stringify(value)).length / 4
const MOST_CALLS = 6
const MOST_TOKENS = 9_000

eachOnStage()

it('an agent lists, observes, proposes, runs and reads in 6 calls and 9,000 tokens', async () => {
  const agent = await agentOf({}, { approves: true })
  const { tools } = await agent.client.listTools()
  let spent = tokens(tools)
  let calls = 0
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<ToolResult> => {
    const result = await agent.call(name, args)
    calls++
    spent += tokens(args) + tokens(result.text) + tokens(result.data ?? {})
    expect(result.isError, result.text).toBe(false)
    return result
  }
  await call('list_targets')
  await call('observe')
  const { data } = await call('propose_experiment', { plan: stage.text({}) })
  const run = await call('run_experiment', { id: data.id, digest: data.digest })
  expect(run.data.status).toBe('done')
  expect((await call('get_experiment', { id: run.data.experiment })).text).toContain('# test: ')
  expect(agent.questions).toHaveLength(1)
  expect(calls).toBeLessThanOrEqual(MOST_CALLS)
  process.stdout.write(
    `The walk: ${calls} calls, ${Math.round(spent)} tokens, of them ${Math.round(tokens(tools))} for ${tools.length} tools.\n`,
  )
  expect(spent).toBeLessThanOrEqual(MOST_TOKENS)
})

it('a section of the schema of plans takes at most 4,000 tokens', async () => {
  for (const [name, section] of planSections()) {
    expect(tokens(section), name).toBeLessThanOrEqual(4_000)
  }
  const agent = await agentOf()
  const all = await agent.call('describe_plan')
  expect(all.data.sections).toEqual(expect.arrayContaining(['rules', 'match', 'abortOn', 'stages']))
  expect(tokens(all)).toBeLessThanOrEqual(1_500)
  const one = await agent.call('describe_plan', { section: 'abortOn' })
  expect(JSON.parse(one.text)).toHaveProperty('properties.errors')
  expect((await agent.call('describe_plan', { section: 'x' })).text).toContain('use one of name, ')
})

it('the plan in propose_experiment and in its errors is valid, but for its names', async () => {
  const agent = await agentOf({ firstStage: '10%', require: ['abortOn', 'slo', 'steadyState'] })
  const { text } = await agent.call('propose_experiment', { plan: 'name: x' })
  expect(text).toContain('plan.yaml:1:1: `target` is missing')
  const [, example = ''] = text.split('A plan to start from:\n')
  expect(example.split('\n').length).toBeLessThanOrEqual(31)
  const named = example.replaceAll('get_weather', 'work')
  const proposed = await agent.call('propose_experiment', { plan: named })
  expect(proposed.isError, proposed.text).toBe(false)
  const { tools } = await agent.client.listTools()
  const propose = tools.find(({ name }) => name === 'propose_experiment')
  expect(JSON.stringify(propose)).toContain('stages: [5%, 10%, 25%]')
})

it('an error names the key, with one number, and no way that the tool does not have', async () => {
  const agent = await agentOf()
  const plan = stage.text({ stages: ['90%'], target: { environment: 'production' } })
  const { text } = await agent.call('propose_experiment', { plan })
  expect(text.split('\n')).toEqual([
    'target.environment: POLICY: the policy does not allow the environment "production"; use one of staging',
    'POLICY: the environment "production" matches production*, which the policy forbids; test another environment',
    'stages[0]: POLICY: the first stage 90% is above firstStage: 20%; begin with 20% or less',
  ])
})

it('describe_faults knows the words of other tools', async () => {
  const agent = await agentOf()
  for (const [word, fault] of [
    ['latency', 'delay'],
    ['Latency', 'delay'],
    ['bandwidth', 'throttle'],
    ['delay', 'delay'],
  ]) {
    const { data, text } = await agent.call('describe_faults', { name: word })
    expect(data.faults[0].name, `${word}: ${text}`).toBe(fault)
  }
})

it('observe reads up to the second, and names the end of its window', async () => {
  const agent = await agentOf()
  await fetch(`http://127.0.0.1:${stage.squall.port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{}}}',
  }).then((response) => response.text())
  const asked = Date.now()
  const { data, text } = await agent.call('observe', { seconds: 60 })
  expect(data.traffic).toContainEqual(expect.objectContaining({ tool: 'work', calls: 1 }))
  expect(Date.parse(data.until)).toBeGreaterThanOrEqual(asked - 1000)
  expect(text).toContain(`until ${data.until}`)
})
