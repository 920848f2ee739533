/** How long the event loop waits for one piece of work at a time, in milliseconds. */
const SLICE_MS = 0.5

/**
 * Does work that is done step by step, and lets everything else go on in between: calls wait for it no
 * longer than for one slice of it.
 */
export async function inSlices(steps: Iterable<unknown>): Promise<void> {
  // What was done before this is a piece of work of its own.
  await nextTurn()
  let began = performance.now()
  for (const _ of steps) {
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
