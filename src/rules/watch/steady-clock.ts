/**
 * Returns a clock that never goes back: the later of the wall clock and of the time since its creation. When
 * the wall clock is set back, no expired rule becomes active again, and no rule lasts longer.
 */
export function steadyClock(
  wall: () => number = Date.now,
  passed: () => number = () => performance.now(),
): () => number {
  let ahead = wall() - passed()
  return () => {
    const now = wall()
    const steady = passed() + ahead
    // The wall clock was set forward: continue from the later time.
    if (now > steady) ahead += now - steady
    return now > steady ? now : steady
  }
}
