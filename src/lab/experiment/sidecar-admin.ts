import { API, type Reload, type Rule, type State } from '../../admin/api.ts'
import { askAdmin, problemText, type SidecarAdmin } from '../../admin/api-client.ts'

/** The state of a sidecar. */
export interface SidecarState extends State {
  /** By how much its clock is ahead, in milliseconds; 0 within what its responses can tell. */
  readonly aheadMs: number
}

/** The `Date` header has whole seconds. */
const CLOCK_BLUR_MS = 2000

/** Asks for the state. Throws an `AdminError`. */
export async function askState(admin: SidecarAdmin, signal?: AbortSignal): Promise<SidecarState> {
  const { value, date } = await askAdmin(admin, API.state, { client: 'experiment', signal })
  const ahead = date === undefined ? 0 : date - Date.now()
  return { ...value, aheadMs: Math.abs(ahead) <= CLOCK_BLUR_MS ? 0 : ahead }
}

/** Asks for the active rules. Throws an `AdminError`. */
export async function askRules(
  admin: SidecarAdmin,
  signal?: AbortSignal,
): Promise<readonly Rule[]> {
  return (await askAdmin(admin, API.rules, { client: 'experiment', signal })).value.rules
}

/** Describes the first error of a version that was refused. */
export function firstProblem({ problems = [] }: Reload): string {
  const [first] = problems
  return first === undefined ? '' : problemText(first)
}
