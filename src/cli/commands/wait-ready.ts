import { setTimeout as sleep } from 'node:timers/promises'
import { API } from '../../admin/contract/api.ts'
import { readResponse } from '../../admin/contract/api-client.ts'
import { formatListen, type ListenAddress } from '../../http/address.ts'
import { askLocal } from '../ask-local.ts'
import { adminToAsk } from '../../sidecar/flags/address.ts'
import { defineCommand, operation, type RequestOf } from '../flags/command.ts'
import { group } from '../../base/flags/flag.ts'
import { duration, one, toggle } from '../../base/flags/kinds.ts'

const OPERATION = operation({
  name: 'wait-ready',
  examples: ['wait-ready', 'wait-ready --admin 127.0.0.1:15390'],
  page: 'docs/concepts/redirect.md',
  description: 'wait until squall run accepts traffic',
  flags: {
    ...group('The sidecar:', {
      admin: one('address', 'admin port of squall run', adminToAsk, {
        default: '127.0.0.1:15390',
      }),
    }),
    ...group('Timeouts:', {
      readyWait: duration('how long to wait', { min: 0, max: 3_600_000 }, '30s'),
    }),
    ...group('Behaviour:', {
      readyWithApp: toggle(
        'also wait until the upstream accepts connections; do not use with an upstream that starts after this command',
      ),
    }),
  },
  note: `
Run this command in the postStart hook of the sidecar container, or as an image health check.`,
  parse: ({ admin, readyWait: waitMs, readyWithApp: withApp }) => ({ admin, waitMs, withApp }),
})

export const WAIT_READY = defineCommand({ ...OPERATION, start: waitReadyCommand })

const POLL_MS = 50
const RESPONSE_MS = 2_000

/** Waits until the sidecar accepts traffic; returns the exit code. */
export async function waitReadyCommand(request: RequestOf<typeof OPERATION>): Promise<number> {
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

/** Returns true when the sidecar responds. */
export async function isLive(admin: ListenAddress, timeoutMs: number): Promise<boolean> {
  const asked = askLocal(admin, 'GET', '/livez', timeoutMs)
  return (await asked.catch(() => undefined))?.status === 200
}

async function readiness(
  admin: ListenAddress,
  withApp: boolean,
): Promise<{ readonly ready: boolean; readonly reason: string }> {
  try {
    const { text } = await askLocal(admin, 'GET', API.readyz.path, RESPONSE_MS)
    const { ready, reason, listening } = readResponse(API.readyz, text)
    return { ready: ready || (!withApp && listening === true), reason }
  } catch (error) {
    return { ready: false, reason: error instanceof Error ? error.message : String(error) }
  }
}
