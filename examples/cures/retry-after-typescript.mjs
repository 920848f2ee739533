// Waits as long as `Retry-After` requests: new StreamableHTTPClientTransport(url, { fetch: patientFetch })
// For SDK v1 and v2. The server did not execute a call that it rejected with 429 or 503.
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 4
const LONGEST_MS = 60_000

export async function patientFetch(url, init) {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url, init)
    const pause = retryAfter(response)
    if (pause === undefined || pause > LONGEST_MS || tries === TRIES) return response
    await response.body?.cancel()
    // Adds up to 10 % of jitter, so that clients do not retry at once.
    await sleep(pause * (1 + Math.random() / 10) + 10, undefined, { signal: init?.signal })
  }
}

/** Parses seconds or a date, and returns milliseconds. */
function retryAfter({ status, headers }) {
  const text = headers.get('retry-after')
  if (text === null || (status !== 429 && status !== 503)) return undefined
  const pause = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(pause) ? undefined : Math.max(0, pause)
}
