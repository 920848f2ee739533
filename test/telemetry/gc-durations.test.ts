import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Registry } from 'prom-client'
import PromRegistry from 'prom-client/lib/registry.js'
import { describe, expect, it } from 'vitest'
import { gcDurations } from '../../src/telemetry/gc-durations.ts'
import { eventually } from '../support/eventually.ts'

const MINUTE = 60_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Collections of everything that were counted, as a scrape reads them. */
async function majors(registry: Registry): Promise<number> {
  const line = /^nodejs_gc_duration_seconds_count\{kind="major"\} (\d+)$/m
  return Number(line.exec(await registry.metrics())?.[1] ?? 0)
}

/** Reads until so many are counted. */
function counted(registry: Registry, least: number): Promise<void> {
  return eventually(async () => {
    const count = await majors(registry)
    return count < least ? `${count} of ${least} were counted` : undefined
  })
}

/** Node tells of collections in a later turn of the event loop, in the order of observers. */
async function told(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('durations of garbage collections', () => {
  it('are counted from the first reading on', async () => {
    const registry = new PromRegistry()
    gcDurations(registry)
    collect()
    await told()
    expect(await majors(registry)).toBe(0)
    collect()
    await counted(registry, 1)
  })

  it('are all counted where several end in one turn', async () => {
    const registry = new PromRegistry()
    gcDurations(registry)
    await majors(registry)
    for (let i = 0; i < 5; i++) collect()
    await counted(registry, 5)
  })

  it('are no longer counted once nobody has read for a while, and again with the next reading', async () => {
    let now = 0
    const registry = new PromRegistry()
    gcDurations(registry, () => now)
    await majors(registry)
    now = 10 * MINUTE
    collect()
    await counted(registry, 1)
    now = 26 * MINUTE
    collect()
    await told()
    // That one was told, and was the last: what comes now is missed.
    for (let i = 0; i < 20; i++) collect()
    await told()
    const before = await majors(registry)
    expect(before).toBeLessThan(20)
    collect()
    await counted(registry, before + 1)
  })
})
