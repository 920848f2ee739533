import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../../src/lab/experiment/context.ts'
import type {
  ExperimentResult,
  PhaseResult,
} from '../../../src/lab/experiment/experiment-result.ts'
import { restoreRules, type RestoreRequest } from '../../../src/cli/experiment/restore.ts'
import { asked } from '../../support/asked.ts'
import { eventually } from '../../support/eventually.ts'
import { failing } from '../../live/rules-directory.ts'
import { CONFIG_MAP, NONE_YET, podsStage, type PodsStage } from './pods-stage.ts'

let stage: PodsStage
let atServer: number

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

function during(label: string, act: () => unknown): (event: ExperimentEvent) => void {
  let isDone = false
  return (event) => {
    if (isDone || event.kind !== 'phase' || event.label !== label) return
    isDone = true
    act()
  }
}

/**
 * The calls of the first phases that reached the server, by the counts of the load and of the
 * sidecars.
 */
function reached({ before, stages }: ExperimentResult): number {
  const calls = ({ load }: PhaseResult): number => load!.counts.calls
  const all = [before, ...stages].reduce((sum, phase) => sum + calls(phase), 0)
  return all - stages.reduce((sum, { applied }) => sum + applied, 0)
}

/** Notes the calls at the server before the last phase, whose last calls are cut. */
function noteCalls(event: ExperimentEvent): void {
  if (event.kind === 'rolled-back') atServer = stage.server.calls.length
}

async function restore(...args: readonly string[]): Promise<{ code: number; out: string }> {
  let out = ''
  const request = asked(['experiment', 'restore', '--kubeconfig', stage.shop.kubeconfig, ...args])
  const code = await restoreRules(request as RestoreRequest, {
    write: (text: string) => void (out += text),
  })
  return { code, out }
}

test('stages arm all pods, counts are added, and the ConfigMap is restored byte for byte', async () => {
  const before = stage.configMap()
  let meanwhile: Promise<readonly string[]> | undefined
  const onEvent = during('25%', () => {
    const target = { url: 'http://127.0.0.1:9/mcp', environment: 'staging' }
    meanwhile = stage.rejected({ target })
  })
  const result = await stage.run(
    { stages: ['20%', '25%'] },
    {
      onEvent: (event) => {
        onEvent(event)
        noteCalls(event)
      },
    },
  )
  expect(result).toMatchObject({ verdict: 'passed', code: null, restored: true, steadyAfter: true })
  for (const { applied, sampled, matched } of result.stages) {
    expect(applied).toBeGreaterThan(0)
    expect(applied).toBe(sampled)
    expect(matched).toBeGreaterThan(sampled)
  }
  expect(atServer).toBe(reached(result))
  expect(stage.configMap()).toEqual(before)
  expect((await meanwhile)?.join('\n')).toMatch(
    /EXPERIMENT_RUNNING: the experiment \S+ of tester has claimed the ConfigMap until/,
  )
})

test('a pod that is added and one that is deleted keep the sum of the counts', async () => {
  let added: Promise<unknown> | undefined
  const onEvent = during('20%', () => (added = stage.add('shop-3')))
  let isRemoved = false
  const result = await stage.run(
    { hold: '5s' },
    {
      onEvent: (event) => {
        onEvent(event)
        noteCalls(event)
        if (event.kind !== 'moment' || isRemoved || (event.applied ?? 0) < 10) return
        isRemoved = true
        stage.remove('shop-1')
      },
    },
  )
  await added
  expect(isRemoved).toBe(true)
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
  // Calls that the deleted sidecar counted after its last poll are lost.
  const [{ applied }] = result.stages as [ExperimentResult['stages'][0]]
  expect(applied).toBeGreaterThan(10)
  expect(reached(result)).toBeGreaterThanOrEqual(atServer)
  expect(stage.configMap()).toMatchObject({ data: NONE_YET, annotations: {} })
})

test('a change by another program ends the experiment and stays', async () => {
  const theirs = failing('theirs', 'elsewhere')
  const onEvent = during('20%', () => stage.change({ 'rules.yaml': theirs }))
  const result = await stage.run({ hold: '20s' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'RULES_CHANGED', restored: false })
  expect(stage.configMap()).toEqual({
    annotations: {},
    labels: {},
    data: { ...NONE_YET, 'rules.yaml': theirs },
  })
})

test('pods that have other rules than the ConfigMap are rejected', async () => {
  stage.shop.api.store.delete(CONFIG_MAP)
  expect((await stage.rejected()).join('\n')).toContain('has other rules than the ConfigMap')
  expect(stage.configMap()).toBeUndefined()
})

test('the rules of a dead runner are restored by the next experiment', async () => {
  const before = stage.configMap()
  await stage.die('1s')
  expect(stage.configMap()).not.toEqual(before)
  await eventually(async () =>
    (await stage.rejected(NOT_STEADY)).join().includes('NOT_STEADY') ? undefined : 'claimed',
  )
  expect(stage.configMap()).toEqual(before)
  await stage.die('1s')
  await eventually(() =>
    Date.now() > Date.parse(claim().until) + CLOCK_BLUR_MS ? undefined : 'claimed',
  )
  const notes: string[] = []
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'note') notes.push(event.text)
  }
  const result = await stage.run({}, { onEvent })
  expect(notes).toEqual(['the experiment 20260101-000000-abcdef died: its ConfigMap is restored'])
  expect(result.verdict).toBe('passed')
  expect(stage.configMap()).toEqual(before)
})

test('kill.pod deletes a pod in each stage, and another one must replace it', async () => {
  const killed = { kill: { pod: 1, restartWithin: '15s' }, hold: '4s' }
  const steadyState = { errors: '20%', ready: 2, for: '300ms', within: '20s' }
  let added: Promise<unknown> | undefined
  const notes: string[] = []
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind !== 'note') return
    notes.push(event.text)
    const gone = /^killed pod (\S+)/.exec(event.text)?.[1]
    if (gone === undefined) return
    stage.remove(gone)
    added ??= stage.add('shop-9')
  }
  const result = await stage.run({ ...killed, steadyState }, { onEvent })
  await added
  expect(notes).toEqual([
    'killed pod shop-1',
    expect.stringMatching(/^pod shop-9 replaced it after \d+ ms$/),
  ])
  expect(result).toMatchObject({ verdict: 'passed', restored: true, steadyAfter: true })
  expect(result.mttdMs).not.toBeNull()
  expect(await stage.rejected({ kill: { pod: 4 } })).toEqual([
    'NOT_ENOUGH_PODS: kill.pod is 4, but 2 pods are ready',
  ])
  const steady = { ...steadyState, ready: 3 }
  expect(await stage.rejected({ steadyState: steady })).toEqual([
    'NOT_STEADY: 2 pods are ready, but steadyState.ready is 3',
  ])
})

test('a terminating pod that does not respond delays no renewal', async () => {
  const path = '/api/v1/namespaces/shop/pods/shop-1'
  const onEvent = during('20%', () => {
    const pod = stage.shop.api.store.get(path)!
    const metadata = { ...(pod['metadata'] as object), deletionTimestamp: '2026-01-01T00:00:00Z' }
    stage.shop.api.put(path, { ...pod, metadata })
    const { before } = stage.shop.api
    stage.shop.api.before = (seen) =>
      seen.path.startsWith(`${path}:`) ? new Promise(() => {}) : before(seen)
  })
  const late: string[] = []
  const result = await stage.run(
    { hold: '6s', expiry: '2s' },
    {
      onEvent: (event) => {
        onEvent(event)
        if (event.kind !== 'moment' || event.applied === undefined) return
        const { until } = claim()
        if (Date.parse(until) < Date.now()) late.push(until)
      },
    },
  )
  expect(late).toEqual([])
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
})

test('a pod that reads several renewals late has no rules of another program', async () => {
  const { before } = stage.shop.api
  const path = '/api/v1/namespaces/shop/pods/shop-1'
  let missed = 0
  const onEvent = during('20%', () => {
    stage.shop.api.before = (seen) => {
      const isTouch = seen.method === 'PATCH' && seen.path === path
      return isTouch && ++missed <= 5 ? undefined : before(seen)
    }
  })
  const result = await stage.run({ hold: '6s', expiry: '2s' }, { onEvent })
  expect(missed).toBeGreaterThan(5)
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
})

test('experiment restore leaves a claim that has not expired, unless it is forced', async () => {
  const before = stage.configMap()
  await stage.die('1m')
  const refused = await restore()
  expect(refused.code).toBe(1)
  expect(refused.out).toMatch(/of tester may still run: its claim lasts until \S+; --force ends it/)
  const { code, out } = await restore('--force', '--json')
  expect({ code, outcome: (JSON.parse(out) as { outcome: string }).outcome }).toEqual({
    code: 0,
    outcome: 'restored',
  })
  expect(stage.configMap()).toEqual(before)
  expect((await restore()).out).toContain('no experiment has claimed it')
})

/** The clock of the API server is known to the second. */
const CLOCK_BLUR_MS = 1_500

/** Fails for every target. */
const NOT_STEADY = { steadyState: { p50: '0.001ms', for: '300ms' } }

function claim(): { until: string } {
  const { annotations } = stage.configMap() as { annotations: Record<string, string> }
  return JSON.parse(annotations['squall.dev/experiment']!) as { until: string }
}
