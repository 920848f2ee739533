import { setTimeout as sleep } from 'node:timers/promises'
import { API } from '../../admin/api.ts'
import { readResponse } from '../../admin/api-client.ts'
import { formatListen, type ListenAddress } from '../../http/address.ts'
import { askLocal } from './ask-local.ts'
import type { WaitReadyRequest } from './lifecycle-options.ts'

const POLL_MS = 50
const RESPONSE_MS = 2_000

/** Waits until the sidecar takes traffic; the result is the exit code. */
export async function waitReadyCommand(request: WaitReadyRequest): Promise<number> {
  const { admin, waitMs, withApp } = request
  const until = performance.now() + waitMs
  for (;;) {
    const state = await readiness(admin, withApp)
    if (state.ready) return 0
    if (performance.now() + POLL_MS > until) {
      throw new Error(
        `squall run at ${formatListen(admin)} is not ready after ${waitMs} ms: ${state.reason}`,
      )
    }
    await sleep(POLL_MS)
  }
}

async function readiness(
  admin: ListenAddress,
  withApp: boolean,
): Promise<{ readonly ready: boolean; readonly reason: string }> {
  try {
    const { text } = await askLocal(admin, {
      method: 'GET',
      path: API.readyz.path,
      timeoutMs: RESPONSE_MS,
    })
    const { ready, reason, listening } = readResponse(API.readyz, text)
    return { ready: ready || (!withApp && listening === true), reason }
  } catch (error) {
    return { ready: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
