// part: slow
import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import { type HistoryEntry, addToHistory, readHistory } from '../../src/experiment/history.ts'
import { readSavedPlan } from '../../src/experiment/saved-plan.ts'
import { readAndKeep } from '../../src/experiment/read-plan.ts'
import { proposals } from '../../src/experiment/finish.ts'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { writeReports } from '../../src/experiment/experiment-report.ts'
import type { Step } from '../../../../test/support/wire.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { BEFORE, type ExperimentStage } from './stage.ts'
import { startSquall } from '../../../../test/support/commands.ts'

let stage: ExperimentStage
let ending: Step = 'ok'

beforeEach(async () => {
  ending = 'ok'
  stage = await startSquall({ experiment: { script: () => ending } })
})

afterEach(() => stage.close())

const BEFORE_DIGEST = createHash('sha256').update(BEFORE).digest('hex')

test('stages widen the share, and the rules file is restored at the end', async () => {
  const shares: (number | undefined)[] = []
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase' && event.stage !== undefined)
      shares.push(Number.parseInt(event.label))
  }
  const rules = [
    {
      name: 'broken',
      match: { tool: 'work' },
      percent: 50,
      faults: [{ abort: { toolError: 'no' } }],
    },
  ]
  const result = await stage.run({ rules, stages: ['20%', '40%'], hold: '1s' }, { onEvent })
  expect(result.verdict).toBe('passed')
  expect(shares).toEqual([20, 40])
  const [first, second] = result.stages
  // Half of the rule's own share, and then twice as much.
  expect(first!.applied / first!.matched).toBeLessThan(0.25)
  expect(second!.applied).toBeGreaterThan(0)
  // The client saw as many faults as the sidecar injected.
  for (const { load, applied } of result.stages) expect(load!.faults[0]?.seen).toBe(applied)
  expect(result).toMatchObject({ restored: true, steadyAfter: true, code: null })
  // The last phase ends as soon as the target is steady, which is no interruption.
  expect(result.after!.load!.run.complete).toBe(true)
  // Failures were detected during the stages, and not after them.
  expect(result.mttdMs).toBeGreaterThan(0)
  expect(result.mttrMs).toBeGreaterThan(result.mttdMs!)
  expect(await stage.rules()).toBe(BEFORE)
})

test('a failed gate rolls back the rules within a second', async () => {
  let seenAt = 0
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'seen') seenAt = Date.now()
  }
  const asked = { stages: ['20%', '40%'], hold: '20s', abortOn: { errors: '5%' } }
  const result = await stage.run(asked, { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', stage: '20%', code: 'ABORT_CONDITION' })
  expect(result.failedGate).toMatchObject({ gate: 'errors >5%', measure: 'errors' })
  expect(result.stages).toHaveLength(1)
  // The log of the sidecar shows when the previous rules were active again.
  const back = stage.squall.logs.findLast(({ digest }) => digest === BEFORE_DIGEST)!
  expect(back['msg']).toBe('active rules')
  expect(Date.parse(String(back['time'])) - seenAt).toBeLessThan(1000)
  expect(result.rollbackMs).toBeLessThan(1000)
  expect(result.steadyAfter).toBe(true)
})

test('no fault is injected when the target is not in steady state', async () => {
  ending = 'tool error'
  const abortOn = { errors: { limit: '90%', for: '1h' } }
  expect(await stage.rejected({ abortOn })).toEqual(['NOT_STEADY'])
  expect(await stage.rules()).toBe(BEFORE)
  // No rule but the marker was ever active.
  const most = stage.squall.logs.filter(({ msg }) => msg === 'active rules')
  expect(Math.max(...most.map(({ rules }) => Number(rules)))).toBe(1)
})

test('a target that is not in steady state is named with its most frequent error', async () => {
  ending = 'status 404'
  await expect(stage.run({})).rejects.toThrow(
    /^NOT_STEADY: .*; most frequent error: \d+ × http 404.*; set sessionAffinity: ClientIP on a Service with several pods, fix the target/,
  )
})

test('proposes what to widen after three passed runs in a row', async () => {
  const asked = { hold: '300ms' }
  const plan = await stage.plan(asked)
  const passed = passedBefore(plan.digest)
  const past: HistoryEntry[] = [{ ...passed, verdict: 'failed' }, passed, passed]
  const third = await stage.run(asked, { past })
  const [wider, tools, longer] = third.proposals
  expect(wider!.write).toBe('stages: [20%, 40%]')
  expect(tools!.write).toContain('"rest"')
  expect(longer!.write).toBe('hold: 0.6s')
  expect(third).toMatchObject({ planDigest: plan.digest, verdict: 'passed' })
  // Two in a row are not three, and those of another plan do not count.
  const other = { ...passed, planDigest: 'another' }
  const lost = { ...passed, verdict: 'inconclusive' } as const
  for (const entries of [[], [passed], [passed, lost], [passed, lost, passed], [other, other]]) {
    expect(proposals(plan, entries, [])).toEqual([])
  }
  expect(proposals(plan, [passed, other, passed], [])).not.toEqual([])
  // The run is stored, and can be read again.
  const directory = join(stage.directory, 'experiments')
  const { kept } = await readAndKeep(
    join(stage.directory, 'plan.yaml'),
    stage.text(asked),
    notAsked,
  )
  const place = await writeReports(directory, third, kept)
  expect(JSON.parse(await readFile(join(place, 'report.json'), 'utf8'))).toEqual(third)
  expect(await readFile(join(place, 'report.md'), 'utf8')).toContain(
    'To widen the plan: hold: 0.6s',
  )
  expect(await readFile(join(place, 'report.html'), 'utf8')).toContain('Stage 20%')
  await addToHistory(directory, third)
  const odd = JSON.stringify({ ...third, seed: 'x' })
  await appendFile(join(directory, 'history.jsonl'), `${odd}\n{"half a li`)
  const [entry, ...others] = await readHistory(directory)
  expect(others).toEqual([])
  expect(third).toMatchObject(entry!)
  expect(entry).toMatchObject({ id: third.id, planDigest: plan.digest, mttrMs: third.mttrMs })
  expect(entry).not.toHaveProperty('stages')
  const { read } = await readSavedPlan(directory, third.id)
  expect(read.ok && read.plan.digest).toBe(plan.digest)
  await expect(readSavedPlan(directory, '../../etc/passwd')).rejects.toThrow('invalid run ID')
})

test('a line of the history that was cut off does not hide the next run', async () => {
  const directory = join(stage.directory, 'cut-off')
  await addToHistory(directory, passedBefore('a') as ExperimentResult)
  await appendFile(join(directory, 'history.jsonl'), '{"id":"2026')
  await addToHistory(directory, passedBefore('b') as ExperimentResult)
  const digests = (await readHistory(directory)).map(({ planDigest }) => planDigest)
  expect(digests).toEqual(['a', 'b'])
})

test('a history of gigabytes takes a further run, and shows it', async () => {
  const directory = join(stage.directory, 'large')
  await mkdir(directory)
  // Without blocks on the disk, and without an end of its last line.
  await writeFile(join(directory, 'history.jsonl'), '')
  await truncate(join(directory, 'history.jsonl'), 3 * 2 ** 30)
  await addToHistory(directory, passedBefore('a') as ExperimentResult)
  expect((await readHistory(directory)).map(({ planDigest }) => planDigest)).toEqual(['a'])
})

function passedBefore(planDigest: string): HistoryEntry {
  const none = { stage: null, code: null, mttdMs: null, mttrMs: null, rulesDigest: null }
  const place = { target: 'http://localhost/mcp', environment: 'staging' }
  const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:01:00Z' }
  const verdict = { verdict: 'passed', why: '' } as const
  return {
    id: 'before',
    squall: '0.1.0',
    server: null,
    alerts: [],
    name: 'test',
    seed: 1,
    planDigest,
    ...none,
    ...place,
    ...times,
    ...verdict,
  }
}

function notAsked(): Promise<string> {
  return Promise.reject(new Error('no file is named'))
}

test('an interrupt restores the rules file at once', async () => {
  const stop = new AbortController()
  const ends: string[] = []
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'moment' && (event.applied ?? 0) > 0) stop.abort()
    if (event.kind === 'phase-over') ends.push(event.text)
  }
  const result = await stage.run({ hold: '20s' }, { stop: stop.signal, onEvent })
  expect(ends).toEqual(['passed', expect.stringMatching(/^interrupted, no verdict, \d+ calls, /)])
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'INTERRUPTED', after: null })
  expect(result.stages).toHaveLength(1)
  expect(result.stages[0]!.load!.run.complete).toBe(false)
  expect(await stage.rules()).toBe(BEFORE)
})

test('a renewal changes only the end of the rules', async () => {
  const ends = new Set<string>()
  let counted = 0
  const stop = new AbortController()
  const running = stage.run({ hold: '20s', sidecar: { expiry: '1s' } }, { stop: stop.signal })
  await eventually(async () => {
    const response = await fetch(`${stage.squall.admin}/api/rules`)
    const { rules } = (await response.json()) as { rules: ListedRule[] }
    const rule = rules.find(({ name }) => name === 'broken')
    if (rule === undefined) return 'not armed yet'
    ends.add(rule.until)
    // Were it counted anew with each renewal, this would go back.
    expect(rule.counts.matched).toBeGreaterThanOrEqual(counted)
    counted = rule.counts.matched
    return ends.size >= 3 ? undefined : `renewed ${ends.size - 1} times`
  })
  stop.abort()
  await running
})

interface ListedRule {
  readonly name: string
  readonly until: string
  readonly counts: { readonly matched: number }
}
