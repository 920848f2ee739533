import { expect, it } from 'vitest'
import { showTasks } from '../../../../src/admin/show-tasks.ts'
import type { Tasks } from '../../../../src/admin/contract/api.ts'
import { parseSlo } from '../../src/load/results/slo.ts'
import { watchTasks } from '../../src/load/sidecar-tasks.ts'
import { ShownIds } from '../../../../src/telemetry/shown-ids.ts'
import { LOST, watched } from '../../../../test/agents/agents.ts'

/** The counts of a sidecar that began at a time, with one call that was executed twice. */
function countsSince(beganAt: number): Tasks {
  const { watch, counts, call } = watched({ now: () => beganAt })
  call({ tool: 'book' }, LOST)
  call({ tool: 'book' })
  return showTasks({ watch, counts, ids: new ShownIds() }, new URLSearchParams())
}

it.each([
  ['counts those of a pod that began during the load', 1000, undefined, 1],
  ['cannot count those of a pod that was silent before', -60_000, 'pod b did not respond', 0],
] as const)('a load %s', async (_, offset, problem, duplicates) => {
  const begun = { name: 'pod a', tasks: countsSince(Date.now()) }
  const joined = { name: 'pod b', tasks: countsSince(Date.now() + offset) }
  let readings = [begun]
  const wait = { signal: AbortSignal.abort(), begins: undefined }
  const watch = await watchTasks(() => Promise.resolve(readings), [], wait)
  readings = [begun, joined]
  const agents = await watch!.ended(undefined, wait)
  expect(agents.totals['duplicate_execution']).toBe(duplicates)
  if (problem === undefined) expect(agents.problem).toBeUndefined()
  else expect(agents.problem).toContain(problem)
})

it('a load with a gate on verdicts does not count those of earlier calls', async () => {
  const { watch, counts, call } = watched()
  call({ tool: 'book' }, LOST)
  const read = () => {
    const tasks = showTasks({ watch, counts, ids: new ShownIds() }, new URLSearchParams())
    return Promise.resolve([{ name: 'pod', tasks }])
  }
  // The earlier call is repeated while the load waits.
  const begins = (): void => call({ tool: 'book' })
  const wait = { signal: new AbortController().signal, begins }
  const began = await watchTasks(read, [parseSlo('gave-up<1%')], wait)
  const agents = await began!.ended(undefined, wait)
  expect(agents.totals['duplicate_execution']).toBe(0)
})

it('the findings of a load come after those of agents, however many the load has', async () => {
  const { watch, counts } = watched()
  const tasks = showTasks({ watch, counts, ids: new ShownIds() }, new URLSearchParams())
  const about = {
    kind: 'gave_up',
    severity: 'high',
    taskKind: 'header',
    tool: 'book',
    of: 9,
  } as const
  const texts = { sentence: '', advice: '', calls: [] }
  const findings = [
    { ...about, ...texts, source: 'load', count: 9 },
    { ...about, ...texts, source: 'agent', severity: 'low', count: 3 },
  ] as const
  const wait = { signal: AbortSignal.abort(), begins: undefined }
  const load = await watchTasks(() => Promise.resolve([{ name: 'pod', tasks, findings }]), [], wait)
  const agents = await load!.ended(undefined, wait)
  expect(agents.findings?.map(({ source }) => source)).toEqual(['agent', 'load'])
})
