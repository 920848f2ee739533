/**
 * Returns a clock that never goes back: the later of the wall clock and of the time that has passed
 * since it was made. So no rule comes to life again, or lasts longer, because the clock was set back.
 */
export function steadyClock(
  wall: () => number = Date.now,
  passed: () => number = () => performance.now(),
): () => number {
  let ahead = wall() - passed()
  return () => {
    const now = wall()
    const steady = passed() + ahead
    // Set forward: from here on it goes on from the later time.
    if (now > steady) ahead += now - steady
    return now > steady ? now : steady
  }
}
