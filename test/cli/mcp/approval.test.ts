import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ExperimentStage } from '../../lab/experiment/stage.ts'
import { startProgram } from '../../support/program.ts'
import { startSquall } from '../../support/squall.ts'
import { type Agent, controlFlags, openAgent, propose } from './agent.ts'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

let stage: ExperimentStage
let agent: Agent

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
  agent = await openAgent({ server: await controlFlags(stage) })
})

afterEach(async () => {
  await agent.close()
  await stage.close()
})

const at = (name: string): string => join(stage.directory, name)

const proposed = (changes = {}) => propose(agent, stage.text(changes))

/** Runs `squall approve` in a terminal, and types a line. */
async function approveInTerminal(id: string, line: string): Promise<string> {
  const command = [process.execPath, MAIN, 'approve', id, '--state-dir', at('state')].join(' ')
  const { stdout } = await startProgram(
    ['-qec', command, '/dev/null'],
    {},
    { program: 'script', input: `${line}\n` },
  ).finished()
  return stdout
}

it('a run that the client cannot ask about waits for squall approve, once', async () => {
  const asked = await proposed()
  const waiting = await agent.call('run_experiment', asked)
  expect(waiting).toMatchObject({
    isError: false,
    data: { status: 'approval_required', next: `squall approve ${asked.id}` },
  })
  expect(await approveInTerminal(asked.id, 'n')).toContain('not approved')
  expect((await agent.call('run_experiment', asked)).data.status).toBe('approval_required')
  const shown = await approveInTerminal(asked.id, 'y')
  expect(shown).toContain(asked.digest)
  expect(shown).toContain('at most 20% of calls')
  const run = await agent.call('run_experiment', asked)
  expect(run.data).toMatchObject({ status: 'done', restored: true })
  expect((await agent.call('run_experiment', asked)).isError).toBe(true)
  expect(await approveInTerminal(asked.id, 'y')).toContain('no proposal of this id')
})
