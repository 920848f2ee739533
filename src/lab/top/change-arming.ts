import { API } from '../../admin/api.ts'
import { AdminError, askAdmin } from '../../admin/api-client.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'
import { type Place, placeText } from './sidecar-view.ts'

/** A change that an operator may ask for. */
export type Change = 'disarm' | 'arm'

const TIMEOUT_MS = 5_000
const MAX_TEXT = 250

/** Asks a sidecar to disarm or to arm, and describes the result. */
export async function changeArming(place: Place, change: Change, token: string): Promise<string> {
  const admin = { url: new URL(`http://${placeText(place)}`) }
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
