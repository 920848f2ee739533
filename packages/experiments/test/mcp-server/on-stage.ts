import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach } from 'vitest'
import type { ExperimentSetup, ExperimentStage } from '../experiment/stage.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { type Agent, type AgentSetup, controlFlags, openAgent } from './agent.ts'

const MAIN = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url))

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

/** Returns a path in the directory of the stage. */
export const at = (name: string): string => join(stage.directory, name)

/** Runs `squall mcp approve` in a terminal, and types a line. */
export function approveInTerminal(id: string, line: string): Promise<string> {
  return inTerminal(['mcp', 'approve', id, '--state-dir', at('state')], line)
}

/** Runs a command line in a terminal, and types a line. */
export async function inTerminal(
  args: readonly string[],
  line: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const command = [process.execPath, MAIN, ...args].join(' ')
  const script = { program: 'script', input: `${line}\n` }
  return (await startProgram(['-qec', command, '/dev/null'], env, script).finished()).stdout
}
