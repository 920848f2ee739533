// part: slow-nightly
import { expect, test } from 'vitest'
import type { ExperimentEvent } from '../../../packages/experiments/src/experiment/context.ts'
import { closers } from '../../support/closers.ts'
import { eventually } from '../../support/eventually.ts'
import { againAfterStall } from '../../support/stalls.ts'
import {
  CONFIG_MAP,
  during,
  podsStage,
  type PodsStage,
} from '../../../packages/experiments/test/experiment/pods-stage.ts'

let stage: PodsStage

const opened = closers()

test('the rules of a dead runner are restored by the next experiment', async () => {
  stage = opened(await podsStage())
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
  expect(notes).toEqual([
    'the process of the experiment 20260101-000000-abcdef died; squall restored the ConfigMap',
  ])
  expect(result.verdict).toBe('passed')
  expect(stage.configMap()).toEqual(before)
})

test('a terminating pod that does not respond delays no renewal', () =>
  againAfterStall(async (open) => {
    stage = open(await podsStage())
    const path = '/api/v1/namespaces/shop/pods/shop-1'
    const { before: earlier } = stage.shop.api
    const writes: number[] = []
    stage.shop.api.before = (seen) => {
      if (seen.method === 'PATCH' && seen.path === CONFIG_MAP) writes.push(performance.now())
      return earlier(seen)
    }
    const onEvent = during('20%', () => {
      const pod = stage.shop.api.store.get(path)!
      const metadata = { ...(pod['metadata'] as object), deletionTimestamp: '2026-01-01T00:00:00Z' }
      stage.shop.api.put(path, { ...pod, metadata })
      const { before } = stage.shop.api
      stage.shop.api.before = (seen) =>
        seen.path.startsWith(`${path}:`) ? new Promise(() => {}) : before(seen)
    })
    const result = await stage.run({ hold: '9s', expiry: '3s' }, { onEvent })
    const pauses = writes.slice(1).map((at, index) => at - writes[index]!)
    expect(pauses.length).toBeGreaterThan(3)
    expect(Math.max(...pauses)).toBeLessThan(ASK_MS)
    expect(result).toMatchObject({ verdict: 'passed', restored: true })
  }))

test('a pod that reads several renewals late has no rules of another program', async () => {
  stage = opened(await podsStage())
  const { before } = stage.shop.api
  const path = '/api/v1/namespaces/shop/pods/shop-1'
  let missed = 0
  const onEvent = during('20%', () => {
    stage.shop.api.before = (seen) => {
      const isTouch = seen.method === 'PATCH' && seen.path === path
      return isTouch && ++missed <= 5 ? undefined : before(seen)
    }
  })
  const result = await stage.run({ hold: '18s', expiry: '6s' }, { onEvent })
  expect(missed).toBeGreaterThan(5)
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
})

/** The clock of the API server is known to the second. */
const CLOCK_BLUR_MS = 1_500

/** A pod that does not respond is waited for this long. */
const ASK_MS = 3_000

/** Fails for every target. */
const NOT_STEADY = { steadyState: { p50: '0.001ms', for: '300ms' } }

function claim(): { until: string } {
  const { annotations } = stage.configMap() as { annotations: Record<string, string> }
  return JSON.parse(annotations['squall.dev/experiment']!) as { until: string }
}
