import type { CallResponse } from './clients/load-client.ts'
import type { RandomSource } from '#base'

const FIRST_MS = 50
const MOST_MS = 2000
/** Allows this many retries before calls have earned any. */
const ADVANCE = 10
const MOST_SAVED = 1000

/** JSON-RPC codes for an invalid call, which a retry cannot fix. */
const FINAL_CODES = new Set([-32700, -32600, -32601, -32602, -32020, -32021, -32022])

/** Returns true when a retry may succeed. */
export function isRetryable({ kind, code = 0, message = '' }: CallResponse): boolean {
  switch (kind) {
    case 'timeout':
    case 'reset':
    case 'refused':
    case 'incomplete':
    case 'malformed':
      return true
    case 'http':
      return code === 408 || code === 425 || code === 429 || code >= 500
    case 'rpc':
      return !FINAL_CODES.has(code)
    case 'tool':
      // Servers also report invalid arguments as tool errors.
      return !/-3260[0-2]/.test(message)
    case 'breaker':
    case 'ok':
    default:
      return false
  }
}

/**
 * Returns a random wait before a retry, up to a bound that doubles; the first retry has number 1.
 */
export function backoffMs(attempt: number, response: CallResponse, random: RandomSource): number {
  const bound = Math.min(MOST_MS, FIRST_MS * 2 ** attempt)
  return Math.max(response.retryAfterMs ?? 0, random() * bound)
}

/** Limits retries to `share` per call, to prevent retry storms; undefined means unlimited. */
export function createRetryBudget(share: number | undefined) {
  let saved = ADVANCE
  return {
    /** Adds the share of a retry that one call earns. */
    earn(): void {
      saved = Math.min(MOST_SAVED, saved + (share ?? 0))
    },
    /** Takes a retry from the budget; returns false when the budget is empty. */
    spend(): boolean {
      if (share === undefined) return true
      // Sums of shares such as 0.1 have rounding errors.
      if (saved < 1 - 1e-9) return false
      saved -= 1
      return true
    },
  }
}

export type Breaker = ReturnType<typeof createBreaker>

/** The window of recent calls, and the minimum number of calls in the window. */
const WINDOW = 50
const LEAST = 20
/** The time without calls before a trial call. */
const OPEN_MS = 1000

/**
 * Creates a circuit breaker, which stops calls of a tool while the error rate of its last calls is
 * at least `share`.
 */
export function createBreaker(share: number) {
  let last: boolean[] = []
  let closedAt = -Infinity
  let open = false
  let trying = false
  return {
    allows(now: number): boolean {
      if (!open) return true
      if (now < closedAt || trying) return false
      trying = true
      return true
    },
    record(ok: boolean, now: number): void {
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
