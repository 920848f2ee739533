// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { podsStage, type PodsStage } from '../experiment/pods-stage.ts'
import { type Agent, openAgent, propose, STATE, trust } from './agent.ts'

const BUDGET = '/api/v1/namespaces/squall-system/configmaps/squall-budget'

let stage: PodsStage
let agent: Agent

beforeEach(async () => {
  stage = await podsStage()
  const at = (name: string): string => join(stage.shop.directory, name)
  const require = ['abortOn', 'steadyState']
  const targets = ['http://127.0.0.1:*/mcp']
  const policy = { targets, environments: ['staging'], firstStage: '20%', require }
  await writeFile(at('policy.yaml'), JSON.stringify(policy))
  await trust(at('policy.yaml'))
  const { target } = JSON.parse(stage.text()) as { target: { url: string } }
  const flags = {
    policy: at('policy.yaml'),
    namespace: 'shop',
    kubeconfig: stage.shop.kubeconfig,
    target: target.url,
    experiments: at('experiments'),
    'state-dir': at('state'),
  }
  const server = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  agent = await openAgent({ server, approves: true, env: STATE })
})

afterEach(async () => {
  await agent.close()
  await stage.close()
})

it('a freeze refuses an approved run on pods, with who set it and until when', async () => {
  const before = stage.configMap()
  const proposed = await propose(agent, stage.text())
  const until = '2099-01-01T00:00:00Z'
  stage.shop.api.put(BUDGET, { data: { freeze: until, by: 'sre' } })
  const run = await agent.call('run_experiment', proposed)
  expect(run.isError).toBe(true)
  expect(run.text).toContain(`frozen until ${until}; set by sre`)
  expect(stage.configMap()).toEqual(before)
})
