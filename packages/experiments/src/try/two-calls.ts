import { latency, listOf, fieldsOf, oneLine } from '#base'
import { planCalls, type PlannedCall } from '../load/call-plan.ts'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { type CallResponse, type Endpoint, originOf } from '../load/clients/load-client.ts'
import { LOAD_DEFAULTS } from '../load/load-options.ts'

const MAX_CALLS = 3
const BOUNDS = { timeoutMs: 30_000, signal: new AbortController().signal }

/**
 * Calls the first tool that declares to be read-only or, where there is none, the first without such
 * a declaration; of these, one that needs no arguments comes first, and the next one after an error.
 * Returns the call, its outcome, and what calls again.
 */
export async function callFirst(endpoint: Endpoint, named: string | undefined) {
  const { tools } = endpoint
  const rank = ({ inputSchema }: (typeof tools)[number]): number =>
    Math.min(1, listOf(fieldsOf(inputSchema)['required']).length)
  const reading = tools.filter(({ hint }) => hint === 'reads')
  const mild = reading.length > 0 ? reading : tools.filter(({ hint }) => hint === 'no_hint')
  const sorted = mild.toSorted((a, b) => rank(a) - rank(b)).map(({ name }) => name)
  const [name, ...others] = named === undefined ? sorted.slice(0, MAX_CALLS) : [named]
  if (name === undefined)
    throw new ToolsNotNamedError('no tool is read-only; select one with --tool', tools)
  const client = await endpoint.connect()
  const again = async ({ tool, args }: PlannedCall) => {
    const since = performance.now()
    const response = await client.call(tool, args, BOUNDS)
    return seen(response, latency(Math.round(performance.now() - since)))
  }
  const callOf = (tool: string): PlannedCall =>
    planCalls({ ...LOAD_DEFAULTS.work, tools: [tool] }, tools, [], 1, 'try')(0)[0]!
  let call = callOf(name)
  let first = await again(call)
  for (const other of others) {
    if (first.outcome === 'ok') break
    call = callOf(other)
    first = await again(call)
  }
  return { call, first, again }
}

/** Returns the outcome of a call, also in words. */
function seen(response: CallResponse, time: string) {
  const { kind, code = '', message = '' } = response
  if (kind === 'ok') return { outcome: kind, origin: undefined, text: `succeeded after ${time}` }
  const origin = originOf(response)
  const what = { http: `HTTP status ${code}`, rpc: `JSON-RPC error ${code}`, tool: 'a tool error' }
  const name = kind in what ? what[kind as keyof typeof what] : kind
  const said = kind === 'http' || message === '' ? '' : `: ${oneLine(message, 200)}`
  const whose = origin === 'injected' ? 'injected by Squall' : `${origin}: Squall injected nothing`
  return { outcome: kind, origin, text: `failed after ${time} with ${name}${said} (${whose})` }
}
