import { asInvoked } from '../base/own-command.ts'
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
