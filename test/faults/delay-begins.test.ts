import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { FaultStopped } from '../../src/listener/faults/chain/stop.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, type RuledOptions, startSidecar } from '../support/wire.ts'
import { jsonApp } from './apps.ts'
import { REPLACED } from './one-fault.ts'

const opened = closers()
const DELAY = 400
/** The time for which something keeps the event loop before the delay begins. */
const BUSY = 300

function keepBusy(): void {
  const until = performance.now() + BUSY
  while (performance.now() < until);
}

/** A fault that delays a call, after `before`. */
function late(before?: (signal: AbortSignal) => void): Fault {
  return {
    async onRequest(ctx) {
      before?.(ctx.signal)
      ctx.injected()
      await ctx.sleep(DELAY)
      return { kind: 'continue' }
    },
  }
}

/** Returns a function that makes a call with these faults and returns its time. */
async function calls(
  faults: readonly Fault[],
  more: Partial<RuledOptions> = {},
): Promise<() => Promise<number>> {
  const options = { rules: [REPLACED], faults, upstream: jsonApp, ...more }
  const stage = opened(await startSidecar(options))
  return async () => {
    const begun = performance.now()
    expect((await call(stage, callMessage(1))).status).toBe(200)
    return performance.now() - begun
  }
}

/** Returns the shortest time of up to five calls: on a busy machine any of them may stand still. */
async function fastest(act: () => Promise<number>, enough: number): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < 5 && least >= enough; attempt++)
    least = Math.min(least, await act())
  return least
}

it('counts the time to report a delay as a part of it', async () => {
  let signal: AbortSignal | undefined
  const faults = [late((own) => (signal = own))]
  const took = await fastest(await calls(faults, { reported: keepBusy }), DELAY + BUSY)
  expect(took).toBeGreaterThanOrEqual(DELAY - 0.5)
  expect(took).toBeLessThan(DELAY + BUSY)
  await expect.poll(() => signal?.reason as unknown).toBeInstanceOf(FaultStopped)
})

it('counts the first delay from when the request was there, and another from the end of the first', async () => {
  const one = await fastest(await calls([late(keepBusy)]), DELAY + BUSY)
  expect(one).toBeGreaterThanOrEqual(DELAY - 0.5)
  expect(one).toBeLessThan(DELAY + BUSY)
  const both = await calls([late(keepBusy), late()])
  expect(await both()).toBeGreaterThanOrEqual(2 * DELAY - 0.5)
})
