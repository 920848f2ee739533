import { type Call, isOther } from '../../mcp/call.ts'
import { ALL_METHODS } from '../../mcp/classify.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import { isInputRequest } from './outlook.ts'

/** Messages of the server that have text themselves. */
const FROM_SERVER = ['sampling/createMessage', 'elicitation/create']
const NOTIFICATIONS = ['notifications/progress', 'notifications/message']
/** Requests whose results have text. */
const RESULTS = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'tasks/result',
  'sampling/createMessage',
]

/** Requests whose results are lists. */
const LISTS = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'tasks/list',
  'completion/complete',
]

/** Returns true for a method of the specification, whose messages have a known form. */
export function isKnownMethod(method: string): boolean {
  return ALL_METHODS.has(method)
}

/** Returns false when the specification has no text in the content of a message. */
export function mayHaveText(call: Call | undefined): boolean {
  if (call === undefined || !isKnownMethod(call.method)) return true
  const { method, kind, from } = call
  if (kind === 'notification') return NOTIFICATIONS.includes(method)
  // A result that asks for input has no content.
  if (from === 'server') return !isInputRequest(call) && FROM_SERVER.includes(method)
  // From 2026-07-28 on, the result of a task comes with its status.
  const isOfTask = method === 'tasks/get' && isModern(call.protocolVersion) && !isOther(call)
  return isOfTask || RESULTS.includes(method)
}

/** Returns false when the specification has no list of items in the result of a message. */
export function mayHaveItems(call: Call | undefined): boolean {
  if (call === undefined || !isKnownMethod(call.method)) return true
  return call.from !== 'server' && LISTS.includes(call.method)
}
