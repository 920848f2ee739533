import { API } from '../../admin/api.ts'
import { AdminError, askAdmin } from '../../admin/api-client.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'
import { type AdminEndpoint, endpointText } from './sidecar-view.ts'

export type Change = 'disarm' | 'arm'

const TIMEOUT_MS = 5_000
const MAX_TEXT = 250

/** Disarms or arms a sidecar, and describes the result. */
export async function changeArming(
  endpoint: AdminEndpoint,
  change: Change,
  token: string,
): Promise<string> {
  const admin = { url: new URL(`http://${endpointText(endpoint)}`) }
  const body = change === 'disarm' ? { body: { reason: 'by squall top' } } : {}
  const options = { client: 'top', token, timeoutMs: TIMEOUT_MS, ...body }
  try {
    const { armed, changed } = (await askAdmin(admin, API[change], options)).value
    const state = armed ? 'armed' : 'disarmed'
    return changed ? state : `${state} already`
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return foreignCell(error.message.replace(`${API[change].path} `, ''), MAX_TEXT)
  }
}
