import { AdminError, askAdmin } from '../admin/api-client.ts'
import { API } from '../admin/api.ts'
import { plain } from '../base/text/foreign-text.ts'
import { endpointText } from '../lab/top/sidecar-view.ts'
import type { ArmRequest } from './commands/arm.ts'
import { print } from './files.ts'

const FAILED = 1

/** Arms or disarms sidecars, all at once; returns the exit code. */
export async function armSidecars(request: ArmRequest): Promise<number> {
  const outcomes = await Promise.all(request.endpoints.map((each) => change(each, request)))
  const text = request.json
    ? `${JSON.stringify({ sidecars: outcomes })}\n`
    : outcomes.map(({ address, text: said }) => `${plain(address)}: ${plain(said)}\n`).join('')
  await print(text)
  return outcomes.every(({ ok }) => ok) ? 0 : FAILED
}

async function change(
  endpoint: ArmRequest['endpoints'][number],
  { change: what, token, reason, timeoutMs }: ArmRequest,
) {
  const address = endpointText(endpoint)
  const body = what === 'disarm' ? { body: { reason } } : {}
  try {
    const asked = { client: what, token, timeoutMs, ...body }
    const { value } = await askAdmin({ url: new URL(`http://${address}`) }, API[what], asked)
    const { armed, changed } = value
    const state = armed ? 'armed' : 'disarmed'
    // Something else may keep the rules disarmed: the guard, production or a stop.
    const ok = armed === (what === 'arm')
    const still = ok ? '' : ', still: squall top shows the reasons'
    return { address, ok, armed, changed, text: `${state}${changed ? '' : ' already'}${still}` }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return { address, ok: false, text: error.message }
  }
}
