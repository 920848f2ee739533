import { API, type Reload, type Rule, type State } from '../../admin/api.ts'
import { AdminError, askAdmin, problemText, type SidecarAdmin } from '../../admin/api-client.ts'
import type { EarlyEnd } from './experiment-result.ts'

export interface SidecarState extends State {
  /** The milliseconds by which the clock of the sidecar is ahead; 0 within the precision of the `Date` header. */
  readonly aheadMs: number
}

/** The precision of the `Date` header, which has whole seconds. */
const CLOCK_BLUR_MS = 2000

/** Requests the state. Throws an `AdminError`. */
export async function askState(admin: SidecarAdmin, signal?: AbortSignal): Promise<SidecarState> {
  const { value, date } = await askAdmin(admin, API.state, { client: 'experiment', signal })
  const ahead = date === undefined ? 0 : date - Date.now()
  return { ...value, aheadMs: Math.abs(ahead) <= CLOCK_BLUR_MS ? 0 : ahead }
}

/** Requests the active rules. Throws an `AdminError`. */
export async function askRules(
  admin: SidecarAdmin,
  signal?: AbortSignal,
): Promise<readonly Rule[]> {
  return (await askAdmin(admin, API.rules, { client: 'experiment', signal })).value.rules
}

/** A sidecar that does not respond for this time is lost. */
const LOST_MS = 3000

/** Returns a poll of a sidecar, which resolves to the reason to end a phase, if there is one. */
export function sidecarPoll(
  admin: SidecarAdmin,
  check: (
    state: SidecarState,
    signal: AbortSignal,
  ) => EarlyEnd | undefined | Promise<EarlyEnd | undefined>,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  let lastResponse = performance.now()
  return async (signal) => {
    try {
      const state = await askState(admin, signal)
      lastResponse = performance.now()
      return await check(state, signal)
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      if (signal.aborted || performance.now() - lastResponse < LOST_MS) return undefined
      return { code: 'SIDECAR_LOST', why: `the sidecar did not respond: ${error.message}` }
    }
  }
}

/** Describes the first error of a rejected version. */
export function firstProblem({ problems = [] }: Reload): string {
  const [first] = problems
  return first === undefined ? '' : problemText(first)
}
