// part: slow-nightly
/*
 * The steady state before was measured while other rules were suspended, the steady state after with
 * these rules active: the verdict was NOT_RECOVERED, with a false MTTR, for a healthy target.
 */
import { writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sha256Of } from '../../../../src/base/digest.ts'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { BEFORE, type ExperimentStage } from './stage.ts'
import { startSquall } from '../../../../test/support/commands.ts'

let stage: ExperimentStage

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(() => stage.close())

/** Writes rules like another program, and waits until they are active. */
async function others(text: string): Promise<void> {
  const before = stage.squall.logs.length
  await writeFile(stage.rulesFile, text)
  await stage.squall.logged('active rules', before)
}

const THEIRS = `# theirs, with a comment\n${failing('theirs', 'work')}`
const THEIRS_DIGEST = sha256Of(THEIRS)
const REPLACE = { sidecar: { replaceRules: true, expiry: '1s' } }

test('other rules are suspended during all phases, and restored at the end', async () => {
  await others(THEIRS)
  const active: boolean[] = []
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'moment') active.push(isActive() === THEIRS_DIGEST)
  }
  const result = await stage.run({ ...REPLACE, hold: '1500ms' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'passed', code: null, restored: true, steadyAfter: true })
  expect(result.before.load!.counts.responded).toBe(result.before.load!.counts.calls)
  expect(active).not.toContain(true)
  expect(await stage.rules()).toBe(THEIRS)
  await eventually(() => (isActive() === THEIRS_DIGEST ? undefined : 'theirs are not active again'))
})

test('an interrupt restores other rules at once', async () => {
  await others(THEIRS)
  const stop = new AbortController()
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase' && event.label === 'steady state after') stop.abort()
  }
  const asked = { ...REPLACE, hold: '300ms' }
  const result = await stage.run(asked, { stop: stop.signal, onEvent })
  expect(result).toMatchObject({ code: 'INTERRUPTED', steadyAfter: null, restored: true })
  expect(await stage.rules()).toBe(THEIRS)
})

test('rules that another program writes during the steady state after make the result inconclusive', async () => {
  let after = false
  let written: Promise<void> | undefined
  const theirs = failing('meanwhile', 'work')
  const onEvent = (event: ExperimentEvent): void => {
    after ||= event.kind === 'phase' && event.label === 'steady state after'
    // Once the sidecar has gone back to what was there before.
    if (after && event.kind === 'moment' && isActive() === sha256Of(BEFORE)) {
      written ??= writeFile(stage.rulesFile, theirs)
    }
  }
  const asked = { hold: '300ms', steadyState: { errors: '1%', for: '3s', within: '8s' } }
  const result = await stage.run(asked, { onEvent })
  await written
  expect(result).toMatchObject({
    verdict: 'inconclusive',
    code: 'RULES_CHANGED',
    steadyAfter: null,
  })
  expect(await stage.rules()).toBe(theirs)
})

test('rules that another program writes as the last stage ends make the result inconclusive', async () => {
  const theirs = failing('meanwhile', 'work')
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase-over' && event.label === '20%') writeFileSync(stage.rulesFile, theirs)
  }
  const result = await stage.run({ hold: '300ms' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'RULES_CHANGED', restored: false })
  expect(await stage.rules()).toBe(theirs)
})

test('a rules file that did not exist is removed at the end', async () => {
  await rm(stage.rulesFile)
  await stage.squall.logged('no rules; only temporary faults act')
  const result = await stage.run({ hold: '300ms' })
  expect(result).toMatchObject({ verdict: 'passed', restored: true, steadyAfter: true })
  expect(await stage.rules()).toBeUndefined()
})

test('a rules file that the sidecar has rejected is not replaced', async () => {
  await writeFile(stage.rulesFile, 'rules: [{ nmae: wrong }]\n')
  await stage.squall.logged('the rules are invalid; only temporary faults act')
  expect(await stage.rejected()).toEqual(['RULES_NOT_ACTIVE'])
  expect(await stage.rules()).toBe('rules: [{ nmae: wrong }]\n')
})

/** The digest of the rules that the sidecar says are active. */
function isActive(): unknown {
  return stage.squall.logs.findLast(({ msg }) => msg === 'active rules')?.['digest']
}
