// part: slow-nightly
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../../packages/experiments/src/experiment/context.ts'
import type { ExperimentResult } from '../../../packages/experiments/src/experiment/experiment-result.ts'
import {
  during,
  NONE_YET,
  podsStage,
  type PodsStage,
  reached,
} from '../../../packages/experiments/test/experiment/pods-stage.ts'

let stage: PodsStage
let atServer: number

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

/** Notes the calls at the server before the last phase, whose last calls are cut. */
function noteCalls(event: ExperimentEvent): void {
  if (event.kind === 'rolled-back') atServer = stage.server.calls.length
}

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
        if (event.kind !== 'moment' || isRemoved || (event.applied ?? 0) < 1) return
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
