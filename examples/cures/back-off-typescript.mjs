// Retries a call with exponential backoff: await withBackOff(() => client.callTool({ name, arguments }))
// For SDK v1 and v2. Only for calls that may be executed twice.
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 5
const FIRST_MS = 500
const LONGEST_MS = 30_000
// Retryable statuses; an unknown tool or a rejected token fails again.
const TRANSIENT = new Set([429, 502, 503, 504])

export async function withBackOff(call) {
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (tries === TRIES || !TRANSIENT.has(error.status ?? error.code)) throw error
    }
    const pause = Math.min(FIRST_MS * 2 ** (tries - 1), LONGEST_MS)
    // Jitter spreads the retries of clients that failed together.
    await sleep(pause * (1 + Math.random()))
  }
}
