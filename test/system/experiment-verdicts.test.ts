import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { ExperimentEvent } from '../../src/lab/experiment/context.ts'
import { startSquall } from '../support/squall.ts'
import { ExperimentClock } from './experiment-clock.ts'
import { type ScriptedSystem, SYSTEMS } from './scripted-systems.ts'

// Needs nothing more than Node. Each system has its own server and sidecar; five run at a time.

describe.concurrent('the verdict about a system that', () => {
  it('is one of 50', () => {
    expect(SYSTEMS.length).toBeGreaterThanOrEqual(50)
    expect(new Set(SYSTEMS.map(({ title }) => title)).size).toBe(SYSTEMS.length)
  })

  it.each(SYSTEMS)('$title is right', async ({ wanted, ...system }) => {
    if ('rejected' in wanted) {
      expect(
        await tested(system, (stage, options) => stage.rejected(system.plan, options)),
      ).toEqual(wanted.rejected)
      return
    }
    const result = await tested(system, (stage, options) => stage.run(system.plan, options))
    const { verdict, code, stage } = wanted
    expect(result, result.why).toMatchObject({ verdict, code, stage })
    if (verdict === 'passed') expect(result).toMatchObject({ restored: true, steadyAfter: true })
    if (code === 'NOT_RECOVERED') expect(result.steadyAfter).toBe(false)
    if (wanted.mttrAtLeast !== undefined) {
      expect(result.mttrMs).toBeGreaterThanOrEqual(wanted.mttrAtLeast)
    }
  })
})

type Stage = Parameters<NonNullable<ScriptedSystem['meanwhile']>>[0]
type Options = NonNullable<Parameters<Stage['run']>[1]>

/** Runs an experiment against the system. */
async function tested<T>(
  { behaves, flags, before, meanwhile }: Omit<ScriptedSystem, 'wanted'>,
  run: (stage: Stage, options: Options) => Promise<T>,
): Promise<T> {
  const clock = new ExperimentClock()
  const script = (call: number) => behaves(clock.moment(call))
  const stage = await startSquall({ experiment: { script, flags } })
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
    return await run(stage, { onEvent, stop: stop.signal })
  } finally {
    await stage.close()
  }
}
