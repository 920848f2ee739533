import { closeStack, type Open } from './closers.ts'

const BEAT_MS = 50
const STALL_MS = 300
const TRIES = 3

/** Before the first beat the modules of the test are loaded. */
let lastBeat = Infinity
let stalled = 0

function beat(): void {
  const now = performance.now()
  if (now - lastBeat > BEAT_MS + STALL_MS) stalled += now - lastBeat
  lastBeat = now
}
setInterval(beat, BEAT_MS).unref()

/** Returns how long the machine has stood still, in milliseconds. */
export function stalledMs(): number {
  beat()
  return stalled
}

/**
 * For a test of what is measured in time, such as the latency that ends an experiment: runs it again
 * when it fails and the machine stood still meanwhile. Without a stall a failure is final. Each
 * attempt closes what it opened.
 */
export async function againAfterStall(test: (open: Open) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = stalledMs()
    const { open, closeAll } = closeStack()
    try {
      await test(open)
      return
    } catch (error) {
      const ms = stalledMs() - before
      if (ms === 0 || attempt === TRIES) throw error
      console.warn(`runs again: the machine stood still for ${Math.round(ms)} ms, and`, error)
    } finally {
      await closeAll()
    }
  }
}
