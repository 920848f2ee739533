/** Says whether calls of a tool may be sent, from how the last ones ended. */
export interface Breaker {
  allows(now: number): boolean
  record(ok: boolean, now: number): void
}

/** The number of recent calls that decide, and the least number of them. */
const WINDOW = 50
const LEAST = 20
/** The time without calls before one call tries again. */
const OPEN_MS = 1000

/** A breaker that opens when this share of the last calls has failed. */
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
        // Calls that were under way when it opened say nothing new.
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
