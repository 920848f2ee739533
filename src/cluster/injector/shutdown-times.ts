/** Divides the seconds between the announced end of a pod and its kill. */
export interface ShutdownTimes {
  /** The time for which the hook waits for the app to end. */
  readonly stopWait: number
  /** The time for which the sidecar then waits for exchanges in flight. */
  readonly drain: number
}

const WAIT_SHARE = 2 / 3
/** For starting the hook, and for the program to end. */
const SPARE = 2
const MOST_DRAIN = 30

/** Shares the grace period out, so that the sidecar ends by itself before it is killed. */
export function shutdownTimes(graceSeconds: number): ShutdownTimes {
  const stopWait = Math.floor(graceSeconds * WAIT_SHARE)
  const drain = Math.max(0, Math.min(MOST_DRAIN, graceSeconds - stopWait - SPARE))
  return { stopWait: Math.min(stopWait, 3600), drain }
}
