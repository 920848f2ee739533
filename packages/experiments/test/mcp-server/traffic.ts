import { writeFile } from 'node:fs/promises'
import type { ExperimentStage } from '../experiment/stage.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { call, callMessage, type Step } from '../../../../test/support/wire.ts'
import type { Agent, ToolResult } from './agent.ts'

/** The errors of the upstream. */
export const REAL_ERRORS = 4
/** The calls of each tool. */
export const CALLS = 40
export const RULES = `seed: 1
rules:
  - name: flaky-rest
    match: { tool: rest }
    first: 5
    faults: [abort: { toolError: the database is away }]
`

/** Fails the first calls. */
export const FAILING_FIRST = (count: number): Step => (count < REAL_ERRORS ? 'tool error' : 'ok')

export async function callTools(
  stage: ExperimentStage,
  tool: string,
  times: number,
): Promise<void> {
  for (let id = 1; id <= times; id++) await call({ port: stage.squall.port }, callMessage(id, tool))
}

/** Repeats a call until its figures have all calls: the sidecar adds a point every 5 s. */
export async function until(
  agent: Agent,
  name: string,
  args: Record<string, unknown>,
  isWhole: (result: ToolResult) => boolean,
): Promise<ToolResult> {
  let result!: ToolResult
  await eventually(async () => {
    result = await agent.call(name, args)
    return isWhole(result) ? undefined : result.text
  })
  return result
}

/** Makes calls of which the upstream fails 4 and a fault 5. */
export async function makeTraffic(stage: ExperimentStage): Promise<void> {
  await callTools(stage, 'work', CALLS)
  await writeFile(stage.rulesFile, RULES)
  await eventually(async () => {
    const rules = (await (await fetch(`${stage.squall.admin}/api/rules`)).json()) as {
      count: number
    }
    return rules.count === 1 ? undefined : 'the rules are not loaded'
  })
  await callTools(stage, 'rest', CALLS)
}
