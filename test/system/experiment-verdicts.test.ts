// part: experiments
import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { ExperimentEvent } from '../../packages/experiments/src/experiment/context.ts'
import { FIRING, startMonitor } from '../../packages/experiments/test/experiment/monitor.ts'
import { type Changes, mergePlans } from '../../packages/experiments/test/experiment/stage.ts'
import { startSquall } from '../support/commands.ts'
import { againAfterStall } from '../support/stalls.ts'
import { ALERTING } from './alerting-systems.ts'
import { ExperimentClock } from './experiment-clock.ts'
import { type ScriptedSystem, SYSTEMS as SILENT } from './scripted-systems.ts'

// Needs nothing more than Node. Each system has its own server and sidecar; five run at a time.

const SYSTEMS = [...SILENT, ...ALERTING]

describe.concurrent('the verdict about a system that', () => {
  it('is one of 60', () => {
    expect(SYSTEMS.length).toBeGreaterThanOrEqual(60)
    expect(new Set(SYSTEMS.map(({ title }) => title)).size).toBe(SYSTEMS.length)
  })

  it.each(SYSTEMS)('$title is right', (system) => againAfterStall(() => judged(system)), 360_000)
})

async function judged({ wanted, ...system }: ScriptedSystem): Promise<void> {
  if ('rejected' in wanted) {
    const rejected = await tested(system, (stage, plan, options) => stage.rejected(plan, options))
    expect(rejected).toEqual(wanted.rejected)
    return
  }
  const result = await tested(system, (stage, plan, options) => stage.run(plan, options))
  const { verdict, code, stage } = wanted
  expect(result, result.why).toMatchObject({ verdict, code, stage })
  if (verdict === 'passed') expect(result).toMatchObject({ restored: true, steadyAfter: true })
  if (code === 'NOT_RECOVERED') expect(result.steadyAfter).toBe(false)
  if (wanted.mttrAtLeast !== undefined) {
    expect(result.mttrMs).toBeGreaterThanOrEqual(wanted.mttrAtLeast)
  }
}

type Stage = Parameters<NonNullable<ScriptedSystem['meanwhile']>>[0]
type Options = NonNullable<Parameters<Stage['run']>[1]>

/** Runs an experiment against the system. */
async function tested<T>(
  { behaves, plan, flags, before, meanwhile, fires }: Omit<ScriptedSystem, 'wanted'>,
  run: (stage: Stage, plan: Changes, options: Options) => Promise<T>,
): Promise<T> {
  const clock = new ExperimentClock()
  const script = (call: number) => behaves(clock.moment(call))
  const stage = await startSquall({ experiment: { script, flags } })
  const monitor = await startMonitor()
  if (fires !== undefined) {
    monitor.respond = (_, res) =>
      void res.end(JSON.stringify(fires(clock.moment(0)) ? [FIRING] : []))
  }
  const monitored = { expect: { alert: { alertmanager: monitor.url } } }
  const whole = fires === undefined ? plan : mergePlans(plan, monitored)
  const stop = new AbortController()
  let isDone = false
  const onEvent = (event: ExperimentEvent): void => {
    clock.see(event)
    if (isDone || event.kind !== 'moment' || (event.applied ?? 0) === 0) return
    isDone = true
    meanwhile?.(stage, stop)
  }
  try {
    if (before !== undefined) {
      const logged = stage.squall.logs.length
      await writeFile(stage.rulesFile, before)
      await stage.squall.logged('active rules', logged)
    }
    return await run(stage, whole, { onEvent, stop: stop.signal })
  } finally {
    await monitor.close()
    await stage.close()
  }
}
