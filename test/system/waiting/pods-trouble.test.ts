// part: slow-nightly
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../../packages/experiments/src/experiment/context.ts'
import { RejectedError } from '../../../packages/experiments/src/experiment/rejection.ts'
import {
  CONFIG_MAP,
  NONE_YET,
  podsStage,
  type PodsStage,
} from '../../../packages/experiments/test/experiment/pods-stage.ts'

let stage: PodsStage

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

const OUTAGE_MS = 5_000
const UNAVAILABLE = 503

/** Lets every request to the API server fail for a time. */
function loseApiServer(): void {
  const { before } = stage.shop.api
  const until = performance.now() + OUTAGE_MS
  stage.shop.api.before = (seen) => (performance.now() < until ? UNAVAILABLE : before(seen))
}

/** Acts once, at an event of the experiment. */
function once(isIt: (event: ExperimentEvent) => boolean, act: () => void) {
  let isDone = false
  return (event: ExperimentEvent): void => {
    if (isDone || !isIt(event)) return
    isDone = true
    act()
  }
}

const inStage = (event: ExperimentEvent): boolean =>
  event.kind === 'moment' && (event.applied ?? 0) > 5

test('writes that conflict with those of another program are tried again, and its keys stay', async () => {
  const { before } = stage.shop.api
  let conflicts = 0
  let patches = 0
  stage.shop.api.before = (seen) => {
    // Every other write finds the ConfigMap changed.
    if (seen.method === 'PATCH' && seen.path === CONFIG_MAP && patches++ % 2 === 0) {
      stage.change({ notes: `note ${++conflicts}` })
    }
    return before(seen)
  }
  const result = await stage.run({ expiry: '2s', hold: '3s' })
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
  expect(conflicts).toBeGreaterThan(3)
  expect(stage.configMap()).toEqual({
    annotations: {},
    labels: {},
    data: { ...NONE_YET, notes: `note ${conflicts}` },
  })
})

test('an API server that is away for five seconds ends no experiment', async () => {
  const before = stage.configMap()
  const onEvent = once(inStage, loseApiServer)
  const result = await stage.run({ expiry: '15s', hold: '9s' }, { onEvent })
  expect(result, result.why).toMatchObject({ verdict: 'passed', restored: true })
  expect(stage.configMap()).toEqual(before)
})

test('rules are restored when the API server comes back after the stages', async () => {
  const before = stage.configMap()
  const isOver = (event: ExperimentEvent): boolean =>
    event.kind === 'phase-over' && event.label === '20%'
  const onEvent = once(isOver, loseApiServer)
  const result = await stage.run({ expiry: '15s', hold: '2s' }, { onEvent })
  expect(result, result.why).toMatchObject({ restored: true })
  expect(stage.configMap()).toEqual(before)
})

test('of two experiments that claim the same ConfigMap at once, one is rejected', async () => {
  const before = stage.configMap()
  const api = { before: stage.shop.api.before }
  let arrived = 0
  let open: () => void = () => {}
  const both = new Promise<void>((resolve) => (open = resolve))
  stage.shop.api.before = async (seen) => {
    if (seen.method === 'PATCH' && seen.path === CONFIG_MAP && arrived < 2) {
      if (++arrived === 2) open()
      await both
    }
    return api.before(seen)
  }
  const directory = await mkdtemp(join(tmpdir(), 'squall-other-machine-'))
  try {
    const settled = await Promise.allSettled([
      stage.run(),
      stage.run({}, { stateDirectory: directory }),
    ])
    const results = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(results).toMatchObject([{ verdict: 'passed', restored: true }])
    expect(errors).toEqual([expect.any(RejectedError)])
    expect((errors[0] as RejectedError).rejections).toMatchObject([{ code: 'EXPERIMENT_RUNNING' }])
  } finally {
    await rm(directory, { recursive: true })
  }
  expect(stage.configMap()).toEqual(before)
})

test('a new pod whose sidecar never starts holds nothing up', async () => {
  const onEvent = once(inStage, () => stage.shop.addPaper('shop-3'))
  const result = await stage.run({ hold: '4s' }, { onEvent })
  expect(result, result.why).toMatchObject({ verdict: 'passed', restored: true })
})

test('pods that never become ready again after a kill fail the experiment, and rules are restored', async () => {
  const before = stage.configMap()
  const onEvent = (event: ExperimentEvent): void => {
    const gone = event.kind === 'note' ? /^killed pod (\S+)/.exec(event.text)?.[1] : undefined
    if (gone === undefined) return
    stage.remove(gone)
    stage.shop.addPaper('shop-9')
  }
  const kill = { pod: 1, restartWithin: '2s' }
  const steadyState = { errors: '20%', ready: 2, for: '300ms', within: '2s' }
  const result = await stage.run({ kill, steadyState, hold: '4s' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'NOT_RESTARTED', restored: true })
  expect(stage.configMap()).toEqual(before)
})
