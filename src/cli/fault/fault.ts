import { roundedDuration } from '../../base/units.ts'
import { AdminError, adminProblem, askAdmin } from '../../admin/contract/api-client.ts'
import { API, type Endpoint, type ResponseOf, type Rule } from '../../admin/contract/api.ts'
import { endpointText } from '../../admin/contract/endpoint.ts'
import type { FAULT_ADD, FaultRequest } from '../commands/fault.ts'
import type { RequestOf } from '../flags/command.ts'
import { faultRule } from './fault-rule.ts'
import { printOutcomes } from '../sidecar-changes.ts'

const NO_FAULTS =
  'does not accept temporary faults: start the sidecar with --admin-token-file or SQUALL_ADMIN_TOKEN'

/** Adds a fault to each sidecar; returns the exit code. */
export async function addFault(request: RequestOf<typeof FAULT_ADD>): Promise<number> {
  return askEach(request, API.addFault, faultRule(request.flags), ({ fault }, now) => [
    `added ${faultText(fault, now)}`,
  ])
}

/** Prints the temporary faults of each sidecar; returns the exit code. */
export function listFaults(request: FaultRequest): Promise<number> {
  return askEach(request, API.faults, undefined, ({ faults }, now) =>
    faults.length === 0
      ? ['no temporary faults']
      : faults.map((fault) => `${faultText(fault, now)}; ${countsText(fault)}`),
  )
}

/** Removes a fault from each sidecar, or all faults without a name; returns the exit code. */
export function removeFaults(request: FaultRequest & { readonly name?: string }): Promise<number> {
  const { name } = request
  const body = name === undefined ? { all: true } : { name }
  return askEach(request, API.removeFault, body, ({ removed }) => [
    name === undefined ? `removed ${removed}` : `removed ${name}`,
  ])
}

async function askEach<E extends Endpoint>(
  { endpoints, token, timeout, json }: FaultRequest,
  endpoint: E,
  body: object | undefined,
  linesOf: (value: ResponseOf<E>, now: number) => readonly string[],
): Promise<number> {
  const outcomes = await Promise.all(
    endpoints.map(async (each) => {
      const address = endpointText(each)
      const admin = { url: new URL(`http://${address}`), readToken: token }
      const asked = { client: 'fault', timeoutMs: timeout, ...(body !== undefined && { body }) }
      try {
        const { value, date = Date.now() } = await askAdmin(admin, endpoint, asked)
        // The date of a response is cut to the second.
        return { address, ok: true, lines: linesOf(value, date + 500), value: { ...value } }
      } catch (error) {
        if (!(error instanceof AdminError)) throw error
        const message =
          error.status === 404 && endpoint.method !== 'DELETE' ? NO_FAULTS : adminProblem(error)
        return { address, ok: false, lines: [message], value: { error: message } }
      }
    }),
  )
  return printOutcomes(outcomes, json)
}

function faultText({ name, until, text = '', phase }: Rule, now: number): string {
  const left = Math.max(0, Date.parse(until ?? '') - now)
  const state = phase === 'on' ? '' : ` (${phase})`
  return `${name}${state}, ends in ${roundedDuration(left)}: ${text}`
}

function countsText({ counts: { matched = 0, injected = 0 } }: Rule): string {
  return `matched ${matched}, injected ${injected}`
}
