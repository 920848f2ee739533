import { print } from './files.ts'
import { plain } from '../base/text/foreign-text.ts'
import { asInvoked } from '../base/program.ts'
import { type AdminEndpoint, endpointText } from '../admin/contract/endpoint.ts'

/** A change of the state of a sidecar. */
export interface SidecarChange {
  readonly what: 'arm' | 'disarm'
  readonly token: string
  readonly reason: string
  readonly timeout: number
}

/** Arms or disarms a sidecar; returns the outcome. */
export async function changeSidecar(
  endpoint: AdminEndpoint,
  { what, token, reason, timeout }: SidecarChange,
) {
  const { AdminError, adminProblem, askAdmin } = await import('../admin/contract/api-client.ts')
  const { API } = await import('../admin/contract/api.ts')
  const address = endpointText(endpoint)
  const body = what === 'disarm' ? { body: { reason } } : {}
  try {
    const asked = { client: what, token, timeoutMs: timeout, ...body }
    const { value } = await askAdmin({ url: new URL(`http://${address}`) }, API[what], asked)
    const { armed, changed: isChanged } = value
    const state = armed ? 'armed' : 'disarmed'
    // Something else may keep the rules disarmed: production or a stop.
    const ok = armed === (what === 'arm')
    const still = ok ? '' : asInvoked('; squall top shows the reasons')
    const text = `${state}${isChanged ? '' : ' already'}${still}`
    return { address, ok, armed, changed: isChanged, text }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return { address, ok: false, text: adminProblem(error) }
  }
}

const FAILED = 1

/** Shows the outcome of a request to one sidecar, as lines and as an object. */
export interface ShownOutcome {
  readonly address: string
  readonly ok: boolean
  readonly lines: readonly string[]
  readonly value: object
}

/** Prints the outcomes as lines, or as one JSON document; returns the exit code. */
export async function printOutcomes(
  outcomes: readonly ShownOutcome[],
  json: boolean,
): Promise<number> {
  const sidecars = outcomes.map(({ address, ok, value }) => ({ address, ok, ...value }))
  const lines = outcomes.flatMap(({ address, lines: all }) =>
    all.map((line) => `${plain(address)}: ${plain(line)}\n`),
  )
  await print(json ? `${JSON.stringify({ sidecars })}\n` : lines.join(''))
  return outcomes.every(({ ok }) => ok) ? 0 : FAILED
}
