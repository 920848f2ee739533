import type { FaultContext } from '../fault.ts'
import { ReadAhead } from './read-ahead.ts'

/** The interval at which a silent stream shows that it is alive, as servers usually do. */
const KEEP_ALIVE_EVERY = 15_000

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')

/** Nothing for so long, and then the rest; the app sends on meanwhile. */
export async function* silence(
  ctx: FaultContext,
  ms: number,
  rest: AsyncIterator<Uint8Array>,
  keepAlive: boolean,
): AsyncGenerator<Uint8Array, void> {
  const ahead = new ReadAhead(rest, ({ length }) => length)
  try {
    let over = false
    // Rejects when faults are to stop: what was held back goes on then, too.
    const end = ctx.sleep(ms).then(
      () => (over = true),
      () => (over = true),
    )
    // No tick outlives the silence by much: a fault that sleeps is one that still acts.
    for (let left = keepAlive ? ms : 0; left > KEEP_ALIVE_EVERY; left -= KEEP_ALIVE_EVERY) {
      await Promise.race([end, ctx.sleep(KEEP_ALIVE_EVERY).catch(() => undefined)])
      if (over) break
      yield KEEP_ALIVE
    }
    await end
    yield* ahead
  } finally {
    await ahead.return()
  }
}
