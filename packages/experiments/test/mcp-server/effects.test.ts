import { expect, it } from 'vitest'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { effectsOf } from '../../src/mcp-server/effects.ts'

async function effects(rules: readonly object[]): Promise<readonly string[]> {
  const plan = {
    name: 'test',
    target: { url: 'http://127.0.0.1:15300/mcp', environment: 'staging' },
    sidecar: { admin: 'http://127.0.0.1:15390', rulesFile: './rules.yaml' },
    rules,
    steadyState: { errors: '1%' },
    stages: ['10%', '25%'],
    load: { tools: ['get_weather'] },
    abortOn: { errors: '5%' },
  }
  const readText = (): Promise<string> => Promise.reject(new Error())
  const read = await readPlan(JSON.stringify(plan), { file: 'plan', directory: '/', readText })
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return effectsOf(read.plan)
}

it.each([
  [{ delay: { fixed: '10m' } }, 'waits 10 min'],
  [{ delay: { fixed: '2s', jitter: '500ms' } }, 'waits 2 s with jitter 500 ms'],
  [{ delay: { uniform: { min: '1s', max: '3s' } } }, 'waits 1 s to 3 s'],
  [{ abort: { status: 503 } }, 'fails with HTTP 503'],
  [{ abort: { toolError: 'no' } }, 'fails with the tool error "no"'],
  ['hang', 'never receives a response'],
  ['reset', 'loses its connection'],
  [{ throttle: { rate: '4KiB' } }, 'transfers at most 4KiB per second'],
  ['replay', 'receives the fault replay (returns the stored response to an earlier call)'],
])('the effect of %j is in words', async (fault, wanted) => {
  const rule = { name: 'a', match: { tool: 'get_weather' }, faults: [fault] }
  expect(await effects([rule])).toEqual([`get_weather ${wanted} in 25 % of calls`])
})

it('each rule has its own sentence, with its own share', async () => {
  const found = await effects([
    { name: 'a', match: { tool: ['get_weather', 'list'] }, percent: 50, faults: ['reset'] },
    { name: 'b', match: { method: 'tools/list' }, times: 3, faults: ['reset', 'hang'] },
  ])
  expect(found).toEqual([
    'get_weather or list loses its connection in 12.5 % of calls',
    'every call with {"method":"tools/list"} loses its connection in 25 % of calls ("times":3)',
    'every call with {"method":"tools/list"} never receives a response in 25 % of calls ("times":3)',
  ])
})
