/** Calls `act` when all bytes that have arrived by now are read. */
export function afterReads(act: () => void): void {
  // The first callback may run between the reads of this iteration, the second runs after those of
  // the next.
  setImmediate(() => setImmediate(act))
}
