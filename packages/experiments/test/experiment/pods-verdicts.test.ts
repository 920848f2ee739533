// part: slow-nightly
import { get } from 'node:http'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { experimentMarkdown } from '../../src/experiment/experiment-report.ts'
import { podsStage } from './pods-stage.ts'

const opened = closers()

test('gates on verdicts read the sidecars of all pods, and both sides count the same', async () => {
  const stage = opened(await podsStage('--tasks', '--task-window', '200ms'))
  const slo = { 'gave-up': '5%', 'duplicate-execution': 0 }
  const result = await stage.run({ slo })
  expect(result).toMatchObject({ verdict: 'failed', code: 'SLO', why: 'gave-up<=5% failed' })
  const [{ load, applied }] = result.stages as [(typeof result.stages)[0]]
  const { totals, compared, tasks, waiting, problem } = load!.agents!
  expect({ waiting, problem }).toEqual({ waiting: 0, problem: undefined })
  expect(compared!.sidecar).toEqual(compared!.load)
  expect(totals['gave_up']).toBe(applied)
  expect(tasks.failed).toBe(applied)
})

test('the findings of all pods are joined, and reported', async () => {
  const stage = opened(await podsStage('--tasks', '--task-window', '200ms'))
  const result = await stage.run({ slo: { 'duplicate-execution': 0 } })
  const { findings = [], problem, totals } = result.stages[0]!.load!.agents!
  expect(problem).toBeUndefined()
  expect(findings).toHaveLength(1)
  // Each of the two pods counts its own calls.
  const [{ kind, source, count, sentence }] = findings as [(typeof findings)[0]]
  expect({ kind, source, count }).toEqual({
    kind: 'gave_up',
    source: 'load',
    count: totals['gave_up'],
  })
  expect(sentence).toMatch(new RegExp(`errors of work.* In all, ${count} of ${count}\\.$`))
  expect(experimentMarkdown(result)).toContain('In all, ')
})

test('a pod that does not return its findings is named, and those of others are kept', async () => {
  const stage = opened(await podsStage('--tasks', '--task-window', '200ms'))
  const { sidecars } = stage.shop.api
  const admin = sidecars.get('shop/shop-2')!
  const silent = opened(
    await startUpstream((request, response) => {
      if (request.url!.startsWith('/api/agents')) {
        response.destroy()
        return
      }
      const asked = get(new URL(request.url!, admin), (passed) => {
        response.writeHead(passed.statusCode!, { 'content-type': 'application/json' })
        passed.pipe(response)
      })
      asked.on('error', () => response.destroy())
    }),
  )
  sidecars.set('shop/shop-2', `http://127.0.0.1:${silent.port}`)
  const result = await stage.run({ slo: { 'duplicate-execution': 0 } })
  const { findings = [], problem } = result.stages[0]!.load!.agents!
  expect(findings).toHaveLength(1)
  expect(problem).toContain('the sidecar of pod shop-2 did not return its findings')
})

test('a pod that goes away takes its verdicts with it, so that the gate fails', async () => {
  const stage = opened(await podsStage('--tasks', '--task-window', '200ms'))
  let isGone = false
  const result = await stage.run(
    { slo: { 'duplicate-execution': 0 } },
    {
      onEvent: (event) => {
        if (isGone || event.kind !== 'moment' || event.applied === undefined) return
        isGone = true
        stage.remove('shop-2')
      },
    },
  )
  expect(result).toMatchObject({ code: 'SLO', why: 'duplicate-execution<=0 failed' })
  expect(result.stages[0]!.load!.agents!.problem).toContain(
    'the sidecar of pod shop-2 exited or restarted',
  )
})

test('pods with --tasks=false reject a gate on verdicts, and report no agents', async () => {
  const stage = opened(await podsStage('--tasks=false'))
  const [rejection, ...more] = await stage.rejected({ slo: { runaway: '1%' } })
  expect(rejection).toMatch(/^NO_VERDICTS: .* the sidecar of pod shop-[12] does not group calls/)
  expect(more).toEqual([])
})
