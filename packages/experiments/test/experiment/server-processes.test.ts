// part: slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noteLines } from '../../src/experiment/experiment-report.ts'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { LocalSidecar } from '../../src/experiment/local-sidecar.ts'
import { processReader } from '../../src/experiment/monitor/server-processes.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { freePort } from '../../../../test/support/wire.ts'
import {
  type Program,
  rulesFile,
  startProgram,
  startSquall,
} from '../../../../test/support/commands.ts'
import { during, podsStage, type PodsStage } from './pods-stage.ts'

describe('of pods', () => {
  let stage: PodsStage

  beforeEach(async () => {
    stage = await podsStage()
    for (const name of ['shop-1', 'shop-2']) report(name, 3)
  })

  afterEach(() => stage.close())

  /** Reports the container of a pod as the kubelet does. */
  function report(name: string, restartCount: number, runsFor = 7_200_000): void {
    const path = `/api/v1/namespaces/shop/pods/${name}`
    const pod = stage.shop.api.store.get(path)!
    const startedAt = new Date(Date.now() - runsFor).toISOString()
    const app = { name: 'app', restartCount, state: { running: { startedAt } } }
    // An injector of an older cluster makes the sidecar a usual container.
    const sidecar = { name: 'squall', restartCount: restartCount * 10, state: { running: {} } }
    const status = { ...(pod['status'] as object), containerStatuses: [app, sidecar] }
    stage.shop.api.put(path, { ...pod, status })
  }

  test('that run for long and do not restart are a steady state', async () => {
    const steadyState = {
      processUptime: '1h',
      restarts: 0,
      errors: '1%',
      for: '300ms',
      within: '8s',
    }
    const result = await stage.run({ steadyState })
    expect(result).toMatchObject({ verdict: 'passed', steadyAfter: true })
    expect(result.after!.measured).toMatchObject({ restarts: 0 })
    expect(result.after!.measured.processUptime).toBeGreaterThanOrEqual(7_200_000)
    expect(noteLines(result).join('\n')).toMatch(/processUptime 7[\d.]+s; restarts 0/)
  })

  test('of which one restarts in a stage end it', async () => {
    const steadyState = { restarts: 0, for: '300ms', within: '3s' }
    const onEvent = during('20%', () => report('shop-2', 4, 0))
    const result = await stage.run({ steadyState, hold: '20s' }, { onEvent })
    expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION', restored: true })
    expect(result.why).toBe('restarts >0: it is 1')
  })

  test('restart as often as abortOn allows', async () => {
    const onEvent = during('20%', () => report('shop-2', 4, 0))
    const abortOn = { errors: '90%', restarts: 1 }
    const result = await stage.run({ abortOn, hold: '3s' }, { onEvent })
    expect(result).toMatchObject({ verdict: 'passed' })
    expect(result.stages[0]!.measured).toMatchObject({ restarts: 1 })
  })

  test('that began lately are no steady state', async () => {
    report('shop-1', 3, 60_000)
    const steadyState = { processUptime: '1h', for: '300ms' }
    const [reason] = await stage.rejected({ steadyState })
    expect(reason).toMatch(
      /^NOT_STEADY: .*processUptime is (1m|6[\d.]+s), but must be at least 1h$/,
    )
  })
})

test('a sidecar in front of a URL reports no process, and the message names those that do', async () => {
  const stage = await startSquall({ experiment: {} })
  try {
    for (const limit of [{ restarts: 0 }, { processUptime: '1s' }]) {
      expect(await stage.rejected({ steadyState: limit })).toEqual(['MONITOR_UNREACHABLE'])
    }
    await expect(stage.run({ steadyState: { restarts: 0 } })).rejects.toThrow(
      'restarts cannot be read: the sidecar does not report processes; use it with sidecar.kubernetes, or with squall stdio, which runs the server',
    )
    const source = {
      file: 'plan.yaml',
      directory: '/',
      readText: () => Promise.reject(new Error()),
    }
    const read = await readPlan(stage.text({ steadyState: { restarts: -1 } }), source)
    expect(read.ok).toBe(false)
  } finally {
    await stage.close()
  }
})

test('the server of squall stdio runs as long as it does, and starts again with it', async () => {
  const port = await freePort()
  const rules = rulesFile('rules: []')
  const start = (): Program =>
    startProgram(
      ['stdio', '--admin', `127.0.0.1:${port}`, '--rules', rules, '--', 'cat'],
      {},
      { open: true },
    )
  const admin = { url: new URL(`http://127.0.0.1:${port}`) }
  const { processes } = new LocalSidecar({ admin, rulesFile: rules, victim: undefined })
  const { signal } = new AbortController()
  const uptime = processReader('processUptime', processes)
  const restarts = processReader('restarts', processes)
  const runsFor = (ms: number): Promise<void> =>
    eventually(async () => {
      const now = await uptime(signal).catch(() => null)
      return now !== null && now > ms ? undefined : `runs for ${now} ms`
    })
  const first = start()
  await runsFor(1_500)
  expect(await restarts(signal)).toBe(0)
  first.child.stdin!.end()
  await first.finished()
  const second = start()
  // The second has run for longer than the first when it is asked for the first time.
  await eventually(async () => {
    const state = await fetch(new URL('/api/state', admin.url)).then(
      (response) => response.json(),
      () => ({ uptimeSeconds: 0 }),
    )
    const { uptimeSeconds } = state as { uptimeSeconds: number }
    return uptimeSeconds > 3 ? undefined : `runs for ${uptimeSeconds} s`
  })
  expect(await restarts(signal)).toBe(1)
  expect(await uptime(signal)).toBeLessThan(30_000)
  second.child.stdin!.end()
  await second.finished()
})
