import {
  AdminError,
  API,
  askAdmin,
  problemText,
  type Reload,
  type Rule,
  type SidecarAdmin,
} from '#admin-api'
import { clockAhead } from '#protocol'
import type { EarlyEnd } from './experiment-result.ts'
import type { Sidecars, SidecarState } from './sidecars.ts'

/** Requests the state. Throws an `AdminError`. */
export async function askState(admin: SidecarAdmin, signal?: AbortSignal): Promise<SidecarState> {
  const sentAt = Date.now()
  const { value, date } = await askAdmin(admin, API.state, { client: 'experiment', signal })
  const aheadMs = date === undefined ? 0 : clockAhead(date, { sentAt, receivedAt: Date.now() })
  return { ...value, aheadMs }
}

/** Requests the active rules. Throws an `AdminError`. */
export async function askRules(
  admin: SidecarAdmin,
  signal?: AbortSignal,
): Promise<readonly Rule[]> {
  return (await askAdmin(admin, API.rules, { client: 'experiment', signal })).value.rules
}

/**
 * Returns a poll of the sidecars, which resolves to the reason to end a phase, if there is one. A
 * single request without a response does not end a phase: this process may have stood still.
 */
export function sidecarPoll(
  sidecars: Sidecars,
  check: (
    states: readonly SidecarState[],
    signal: AbortSignal,
  ) => EarlyEnd | undefined | Promise<EarlyEnd | undefined>,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  let lastResponse = performance.now()
  let failed = 0
  return async (signal) => {
    try {
      const states = await sidecars.states(signal)
      lastResponse = performance.now()
      failed = 0
      return await check(states, signal)
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      failed++
      const isLost = failed > 1 && performance.now() - lastResponse >= sidecars.paces.lostMs
      if (signal.aborted || !isLost) return undefined
      return { code: 'SIDECAR_LOST', why: `the sidecar did not respond: ${error.message}` }
    }
  }
}

/** Describes the first error of a rejected version. */
export function firstProblem({ problems = [] }: Reload): string {
  const [first] = problems
  return first === undefined ? '' : problemText(first)
}
