import type { CallResponse } from './clients/load-client.ts'
import type { RandomSource } from '../../base/seeded-random.ts'

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

/** Returns a random wait before a retry, up to a bound that doubles; the first retry has number 1. */
export function backoffMs(attempt: number, response: CallResponse, random: RandomSource): number {
  const bound = Math.min(MOST_MS, FIRST_MS * 2 ** attempt)
  return Math.max(response.retryAfterMs ?? 0, random() * bound)
}

/** Limits retries to a share of the calls, to prevent retry storms. */
export interface RetryBudget {
  /** Adds the share of a retry that one call earns. */
  earn(): void
  /** Takes a retry from the budget; returns false when the budget is empty. */
  spend(): boolean
}

/** Creates a budget of `share` retries per call; undefined means unlimited. */
export function createRetryBudget(share: number | undefined): RetryBudget {
  if (share === undefined) return { earn: () => {}, spend: () => true }
  let saved = ADVANCE
  return {
    earn() {
      saved = Math.min(MOST_SAVED, saved + share)
    },
    spend() {
      // Sums of shares such as 0.1 have rounding errors.
      if (saved < 1 - 1e-9) return false
      saved -= 1
      return true
    },
  }
}
