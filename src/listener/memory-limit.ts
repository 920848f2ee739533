import { getHeapStatistics } from 'node:v8'

const HEAP_SHARE = 0.4
const CONTAINER_SHARE = 0.2
const LEAST = 4 * 1024 * 1024

/** Returns how much messages in flight may hold: a share of the heap, and of the container's memory. */
export function defaultMemoryBudget(): number {
  // 0, or more than there is, where nothing limits it.
  const container = process.constrainedMemory()
  const byHeap = getHeapStatistics().heap_size_limit * HEAP_SHARE
  const byContainer = container > 0 ? container * CONTAINER_SHARE : Infinity
  return Math.max(LEAST, Math.floor(Math.min(byHeap, byContainer)))
}
