/** Stops calls of a tool while too many of its last calls fail. */
export interface Breaker {
  allows(now: number): boolean
  record(ok: boolean, now: number): void
}

/** The window of recent calls, and the minimum number of calls in the window. */
const WINDOW = 50
const LEAST = 20
/** The time without calls before a trial call. */
const OPEN_MS = 1000

/** Creates a circuit breaker that opens at this error rate. */
export function createBreaker(share: number): Breaker {
  let last: boolean[] = []
  let closedAt = -Infinity
  let open = false
  let trying = false
  return {
    allows(now) {
      if (!open) return true
      if (now < closedAt || trying) return false
      trying = true
      return true
    },
    record(ok, now) {
      if (open) {
        // Results of calls that were in flight when the breaker opened are ignored.
        if (!trying) return
        trying = false
        if (ok) {
          open = false
          last = []
        } else {
          closedAt = now + OPEN_MS
        }
        return
      }
      last.push(ok)
      if (last.length > WINDOW) last.shift()
      const failed = last.filter((each) => !each).length
      if (last.length < LEAST || failed / last.length < share) return
      open = true
      closedAt = now + OPEN_MS
    },
  }
}
