import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../../src/lab/experiment/context.ts'
import { restoreRules, type RestoreRequest } from '../../../src/cli/experiment/restore.ts'
import { asked } from '../../support/asked.ts'
import { eventually } from '../../support/eventually.ts'
import { failing } from '../../live/rules-directory.ts'
import { CONFIG_MAP, during, NONE_YET, podsStage, type PodsStage } from './pods-stage.ts'

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

async function restore(...args: readonly string[]): Promise<{ code: number; out: string }> {
  let out = ''
  const request = asked(['experiment', 'restore', '--kubeconfig', stage.shop.kubeconfig, ...args])
  const code = await restoreRules(request as RestoreRequest, {
    write: (text: string) => void (out += text),
  })
  return { code, out }
}

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
