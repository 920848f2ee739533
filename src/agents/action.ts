import type { RequestCall } from '../mcp/call.ts'
import { digest } from '../base/digest.ts'
import { jsonHash } from '../base/json/json-hash.ts'
import { hashOfOmitted } from '../base/json/json-scan.ts'
import { deferredArguments } from '../mcp/deferred-arguments.ts'
import { fieldsOf, isRecord } from '../base/values.ts'
import { cutText } from '../telemetry/shown-ids.ts'
import { MAX_TOOL_LABEL } from '../telemetry/text-format.ts'
import type { ServerTools } from './server-tools.ts'

/** The facts of one call of an agent. */
export interface ActionFacts {
  readonly method: string
  /** The tool, prompt, resource or MCP task that the call names. */
  readonly name: string | undefined
  /** The tool whose call began the MCP task, of a request about one. */
  readonly tool: string | undefined
  /** The tools of the server to which the call goes. */
  readonly server: ServerTools
  readonly receivedAt: number
  /** A keyed hash of the arguments, which are not kept. */
  readonly hash: number
  /** True when it follows a failed call of the same tool. */
  readonly isAgain: boolean
  /** True when the call repeats one that failed. */
  readonly isRetry: boolean
  readonly hasEnded: boolean
}

/** The execution of a call; `possible` for a call that was sent and got no response. */
export type Execution = 'none' | 'possible' | 'known'

/** Methods that show nothing of what an agent does, unless they fail themselves. */
const PASSIVE: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'completion/complete',
  'subscriptions/listen',
])

/** Returns true for calls that programs make beside the work of an agent. */
export function isPassive(method: string): boolean {
  return PASSIVE.has(method) || method.startsWith('tasks/')
}

/** Returns true for calls that begin a session. */
export function isHandshake(method: string): boolean {
  return method === 'initialize' || method === 'server/discover'
}

/** Returns true for calls that list tools, prompts, resources or tasks. */
export function isList(method: string): boolean {
  return method.endsWith('/list')
}

/** Shortens a name that is kept: its label stays as it is, and different names stay different. */
export function keptName(name: string): string {
  return name.length > MAX_TOOL_LABEL ? cutText(name, MAX_TOOL_LABEL) + digest(name) : name
}

/**
 * Returns a hash of what a call asks for, equal where the canonical JSON is equal; of deferred
 * arguments, where the bytes are. Leaves out `_meta`, which differs with each try.
 */
export function hashOf({ method, params }: RequestCall): number {
  if (!isRecord(params)) return jsonHash(params)
  if (method === 'tools/call' || method === 'prompts/get') {
    const deferred = deferredArguments(params)
    const hash = deferred ? hashOfOmitted(deferred.text) : jsonHash(params['arguments'] ?? {})
    // The call with the input that a result asked for is not the same call again.
    const { inputResponses } = params
    return inputResponses === undefined ? hash : jsonHash([hash, inputResponses])
  }
  return params['_meta'] === undefined
    ? jsonHash(params)
    : jsonHash({ ...params, _meta: undefined })
}

/** Returns a key that calls of the same tool with the same arguments share: a number, as many are kept. */
export function callKey(action: ActionFacts): number {
  const { hash, tool, method, name = '', server } = action
  const [by, what] = tool === undefined ? [method, name] : ['tools/call', tool]
  return jsonHash([hash, by, what, server.id])
}

/** Returns the value of a key of `_meta`, as text. */
export function metaOf({ params }: RequestCall, key: string): string | undefined {
  const value = fieldsOf(fieldsOf(params)['_meta'])[key]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
