/** The longest time for which one slice blocks the event loop, in milliseconds. */
const SLICE_MS = 0.5

/**
 * Runs the steps of long work in slices and yields to the event loop between them, so that calls
 * wait for one slice at most.
 */
export async function inSlices(steps: Iterable<unknown>): Promise<void> {
  // The caller's work before this counts as a slice.
  await yieldToLoop()
  let began = performance.now()
  for (const _ of steps) {
    if (performance.now() - began < SLICE_MS) continue
    await yieldToLoop()
    began = performance.now()
  }
}

function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
