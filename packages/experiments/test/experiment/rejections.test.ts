// part: slow
import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { armedText } from '../../src/experiment/armed-rules.ts'
import { moreRejections } from '../../src/experiment/run-experiment.ts'
import { takeLock } from '../../src/experiment/lock.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { BEFORE, type ExperimentStage } from './stage.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'

let stage: ExperimentStage

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(async () => {
  await stage.close()
})

/** Writes rules like another program, and waits until they are active. */
async function others(text: string): Promise<void> {
  const before = stage.squall.logs.length
  await writeFile(stage.rulesFile, text)
  await stage.squall.logged('active rules', before)
}

test('a sidecar that does not respond', async () => {
  const rejected = await stage.rejected({ sidecar: { admin: 'http://127.0.0.1:9' } })
  expect(rejected).toEqual(['SIDECAR_UNREACHABLE'])
})

test('a sidecar that is in another environment', async () => {
  const rejected = await stage.rejected({ target: { environment: 'test' } })
  expect(rejected).toEqual(['ENVIRONMENT_MISMATCH'])
})

test('a sidecar that does not read the file', async () => {
  const rulesFile = join(stage.directory, 'another.yaml')
  const { sidecars } = await stage.placed({ sidecar: { rulesFile } })
  Object.assign(sidecars.paces, { activationMs: 200 })
  const rejected = await stage.rejected({ sidecar: { rulesFile } }, { sidecars })
  expect(rejected).toEqual(['RULES_NOT_ACTIVE'])
  expect(existsSync(rulesFile)).toBe(false)
})

test('a rules file that is a link', async () => {
  const rulesFile = join(stage.directory, 'link.yaml')
  await symlink(stage.rulesFile, rulesFile)
  expect(await stage.rejected({ sidecar: { rulesFile } })).toEqual(['RULES_NOT_ACTIVE'])
  expect(await stage.rules()).toBe(BEFORE)
})

test('all reasons at once', async () => {
  const rulesFile = join(stage.directory, 'link.yaml')
  await symlink(stage.rulesFile, rulesFile)
  await writeFile(join(stage.directory, 'server.pid'), 'none')
  const changes = {
    target: { environment: 'test' },
    sidecar: { rulesFile },
    kill: { pidFile: join(stage.directory, 'server.pid'), command: 'server' },
  }
  const all = ['ENVIRONMENT_MISMATCH', 'RULES_NOT_ACTIVE', 'PID_FILE_UNSAFE']
  expect(await stage.rejected(changes)).toEqual(all)
  const known = await moreRejections(await stage.placed(changes))
  expect(known.map(({ code }) => code)).toEqual(all)
  expect(await moreRejections(await stage.placed())).toEqual([])
})

test('other active rules, unless they are disabled or replaceRules is set', async () => {
  await others(failing('theirs', 'elsewhere').replace('match:', 'enabled: false\n    match:'))
  expect(await stage.rejected({ steadyState: { p50: '0.001ms' } })).toEqual(['NOT_STEADY'])
  await others(failing('theirs', 'elsewhere'))
  expect(await stage.rejected()).toEqual(['OTHER_RULES'])
  const result = await stage.run({ sidecar: { replaceRules: true }, hold: '200ms' })
  expect(result.verdict).toBe('passed')
  expect(await stage.rules()).toBe(failing('theirs', 'elsewhere'))
})

test('another experiment in the same sidecar, unless its claim has expired', async () => {
  const plan = await stage.plan()
  await others(armedText(plan, 'theirs', undefined, Date.now() + 60_000).text)
  expect(await stage.rejected()).toEqual(['EXPERIMENT_RUNNING'])
  await others(armedText(plan, 'theirs', undefined, Date.now() - 1).text)
  expect(await stage.rejected({ steadyState: { p50: '0.001ms' } })).toEqual(['NOT_STEADY'])
})

test('another experiment on the same target, unless its process is dead', async () => {
  const target = (await stage.plan()).target
  const directory = join(stage.directory, 'state')
  const lock = await takeLock(directory, target, 'theirs')
  expect(await stage.rejected()).toEqual(['EXPERIMENT_RUNNING'])
  await lock.release()
  const { child, ended } = startProgram(['-e', ''], {}, { program: process.execPath })
  await ended
  const again = await takeLock(directory, target, 'theirs')
  const [name = ''] = await readdir(directory)
  const dead = JSON.stringify({ id: 'dead', pid: child.pid, began: '1' })
  await writeFile(join(directory, name), dead)
  // A holder that has lost the lock does not release the lock of its successor.
  await again.release()
  const taken = await takeLock(directory, target, 'mine')
  expect(taken.dead?.id).toBe('dead')
  await taken.release()
})

test('one of many processes gets the lock of a dead process', async () => {
  const { target } = await stage.plan()
  const directory = join(stage.directory, 'state')
  await takeLock(directory, target, 'first')
  const [name = ''] = await readdir(directory)
  await writeFile(join(directory, name), JSON.stringify({ id: 'dead', pid: 2 ** 22 + 1 }))
  const all = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) => takeLock(directory, target, `n${n}`)),
  )
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('a process that died while it removed a lock, before the clock was set back', async () => {
  const { target } = await stage.plan()
  const directory = join(stage.directory, 'state')
  await takeLock(directory, target, 'first')
  const [name = ''] = await readdir(directory)
  const clearing = join(directory, `${name}.clearing`)
  await mkdir(clearing)
  const ahead = Date.now() / 1000 + 3_600
  await utimes(clearing, ahead, ahead)
  await writeFile(join(directory, name), JSON.stringify({ id: 'dead', pid: 2 ** 22 + 1 }))
  expect((await takeLock(directory, target, 'mine')).dead?.id).toBe('dead')
})

test('a target that cannot be called', async () => {
  const rejected = await stage.rejected({ target: { url: 'http://127.0.0.1:9/mcp' } })
  expect(rejected).toEqual(['TARGET_UNUSABLE'])
  expect(await stage.rules()).toBe(BEFORE)
})

test('rules that match no tool of the server', async () => {
  const rules = [{ name: 'gone', match: { tool: 'wrok' }, faults: ['reset'] }]
  const rejected = await stage.rejected({ rules, load: { tools: undefined } })
  expect(rejected).toEqual(['RULES_MATCH_NOTHING'])
})

test.each([
  ['with --dry-run', ['--environment', 'staging', '--dry-run'], 'SIDECAR_DISARMED'],
  ['without an environment', [], 'ENVIRONMENT_MISMATCH'],
  ['in production', ['--environment', 'prod', '--allow-production'], 'PRODUCTION'],
] as const)('a sidecar %s', async (_, flags, code) => {
  const other = await startSquall({ experiment: { flags } })
  try {
    expect(await other.rejected()).toEqual([code])
  } finally {
    await other.close()
  }
})

test('tools without hints that are not named', async () => {
  const tool = { name: 'work', inputSchema: { type: 'object' } }
  const flags = ['--environment', 'staging']
  const other = await startSquall({ experiment: { flags, tools: [tool] } })
  try {
    expect(await other.rejected({ load: { tools: undefined } })).toEqual(['TOOLS_NOT_NAMED'])
    expect(other.server.calls).toEqual([])
    expect(await other.rules()).toBe(BEFORE)
  } finally {
    await other.close()
  }
})

// The next experiment found the claim of this one, and was rejected.
test('ends only when the sidecar has read the restored rules', async () => {
  const digest = async (): Promise<string | null> => {
    const state = (await (await fetch(`${stage.squall.admin}/api/state`)).json()) as {
      readonly rules: { readonly digest: string | null }
    }
    return state.rules.digest
  }
  const before = await digest()
  for (let run = 1; run <= 3; run++) {
    expect(await stage.rejected({ steadyState: { p50: '0.001ms' } })).toEqual(['NOT_STEADY'])
    expect(await digest()).toBe(before)
  }
})
