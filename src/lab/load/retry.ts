import type { CallResponse } from './clients/load-client.ts'
import type { RandomSource } from '../../base/seeded-random.ts'

const FIRST_MS = 50
const MOST_MS = 2000
/** Retries that are allowed before calls have paid for them. */
const ADVANCE = 10
const MOST_SAVED = 1000

/** JSON-RPC codes that say that the call itself is wrong: again it would be just as wrong. */
const FINAL_CODES = new Set([-32700, -32600, -32601, -32602, -32020, -32021, -32022])

/** True when another attempt may end better. */
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
      // Servers also tell of bad arguments in this way.
      return !/-3260[0-2]/.test(message)
    case 'breaker':
    case 'ok':
    default:
      return false
  }
}

/** Returns the wait before an attempt, the second being number 1: random, up to a bound that doubles. */
export function backoffMs(attempt: number, response: CallResponse, random: RandomSource): number {
  const bound = Math.min(MOST_MS, FIRST_MS * 2 ** attempt)
  return Math.max(response.retryAfterMs ?? 0, random() * bound)
}

/** Allows retries as a share of the calls, so that they cannot become a storm. */
export interface RetryBudget {
  /** A call is made, which pays for a part of a retry. */
  earn(): void
  /** True when there is room for a retry, which is then taken. */
  spend(): boolean
}

/** A budget of so many retries for each call; none means no bound. */
export function createRetryBudget(share: number | undefined): RetryBudget {
  if (share === undefined) return { earn: () => {}, spend: () => true }
  let saved = ADVANCE
  return {
    earn() {
      saved = Math.min(MOST_SAVED, saved + share)
    },
    spend() {
      // A sum of shares such as 0.1 misses the whole by the last bit.
      if (saved < 1 - 1e-9) return false
      saved -= 1
      return true
    },
  }
}
