// part: slow-nightly
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { refusal } from '../../../../test/listener/outbound/carried.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { podsStage } from './pods-stage.ts'

const opened = closers()

test('a plan that blocks a dependency refuses the connections of all pods, and ends that', async () => {
  const dependency = opened(await startUpstream(createServer((socket) => socket.resume())))
  const route = `127.0.0.1:0=127.0.0.1:${dependency.port}`
  const stage = opened(await podsStage('--outbound', route))
  const before = stage.configMap()
  const refusals = (): Promise<readonly (string | undefined)[]> =>
    Promise.all(stage.sidecars.map(({ running }) => refusal(running.listeners[1]!.port)))
  expect(await refusals()).toEqual([undefined, undefined])
  let blocked: Promise<void> | undefined
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind !== 'phase' || event.label !== 'blocked') return
    blocked = eventually(async () => {
      const all = (await refusals()).join()
      return all === 'ECONNREFUSED,ECONNREFUSED' ? undefined : all
    })
  }
  const result = await stage.run(
    {
      rules: undefined,
      stages: undefined,
      dependency: { outbound: { port: dependency.port }, blocked: 'refuse' },
    },
    { onEvent },
  )
  expect(blocked).toBeDefined()
  await blocked
  // The tool needs no dependency, so that no call fails.
  expect(result).toMatchObject({ verdict: 'passed', code: null, restored: true, steadyAfter: true })
  expect(stage.configMap()).toEqual(before)
  await eventually(async () => ((await refusals()).some(Boolean) ? 'still refused' : undefined))
})
