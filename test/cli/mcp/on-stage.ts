import { afterEach, beforeEach } from 'vitest'
import type { ExperimentSetup, ExperimentStage } from '../../lab/experiment/stage.ts'
import { startSquall } from '../../support/squall.ts'
import { type Agent, type AgentSetup, controlFlags, openAgent } from './agent.ts'

export let stage: ExperimentStage
/** Called after each test, the last one first. */
export const closing: (() => Promise<unknown>)[] = []

/** Gives each test a stage of its own. */
export function eachOnStage(setup: ExperimentSetup = {}): void {
  beforeEach(async () => {
    stage = await startSquall({ experiment: setup })
  })

  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
    await stage.close()
  })
}

/** Replaces the stage of this test. */
export async function changeStage(setup: ExperimentSetup): Promise<void> {
  await stage.close()
  stage = await startSquall({ experiment: setup })
}

/** Connects an agent to a `squall mcp` for the stage, with more flags. */
export async function agentOf(
  policy: object = {},
  { flags = [], ...setup }: Partial<AgentSetup> & { readonly flags?: readonly string[] } = {},
): Promise<Agent> {
  const server = [...(await controlFlags(stage, policy)), ...flags]
  const agent = await openAgent({ server, ...setup })
  closing.push(() => agent.close())
  return agent
}
