import { SERVER_REQUESTS } from '../../src/mcp/classify.ts'
import { KNOWN_METHODS, SERVER_METHODS } from '../../src/mcp/known-methods.ts'

/** The parameters and the result of a message, with all that a fault may look for. */
interface Form {
  readonly params: object
  readonly result: object
}

const TEXT = '{"city":"Bern","temperature":20,"humidity":60}'
const content = [{ type: 'text', text: TEXT }]
const task = { taskId: 'T', status: 'working', ttl: 60_000 }
const uri = 'file:///a'

/** The members that are specific to a method. */
const FORMS: Readonly<Record<string, Partial<Form>>> = {
  initialize: {
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c' } },
    result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, instructions: TEXT },
  },
  'server/discover': { result: { capabilities: { tools: {} }, instructions: TEXT } },
  'tools/list': {
    result: { tools: [{ name: 'echo', inputSchema: { type: 'object', properties: {} } }] },
  },
  'tools/call': {
    params: { name: 'echo', arguments: { city: 'Bern' } },
    result: { content, structuredContent: { temperature: 20, humidity: 60 } },
  },
  'prompts/list': { result: { prompts: [{ name: 'p' }] } },
  'prompts/get': {
    params: { name: 'p', arguments: { city: 'Bern' } },
    result: { messages: [{ role: 'user', content: content[0] }] },
  },
  'resources/list': { result: { resources: [{ name: 'r', uri }] } },
  'resources/templates/list': {
    result: { resourceTemplates: [{ name: 'r', uriTemplate: 'file:///{a}' }] },
  },
  'resources/read': { params: { uri }, result: { contents: [{ uri, text: TEXT }] } },
  'resources/subscribe': { params: { uri } },
  'resources/unsubscribe': { params: { uri } },
  'completion/complete': {
    params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'city', value: 'B' } },
    result: { completion: { values: ['Bern'] } },
  },
  'logging/setLevel': { params: { level: 'info' } },
  'tasks/list': { result: { tasks: [task] } },
  'tasks/get': { params: { taskId: 'T' }, result: { ...task } },
  'tasks/result': { params: { taskId: 'T' }, result: { content } },
  'tasks/update': { params: { taskId: 'T' } },
  'tasks/cancel': { params: { taskId: 'T' }, result: { ...task } },
  'sampling/createMessage': {
    params: { messages: [{ role: 'user', content: content[0] }], maxTokens: 10 },
    result: { role: 'assistant', content: content[0], model: 'm' },
  },
  'elicitation/create': { params: { message: TEXT }, result: { action: 'accept' } },
  'roots/list': { result: { roots: [{ uri }] } },
  'notifications/cancelled': { params: { requestId: 77 } },
  'notifications/progress': { params: { progressToken: 't', progress: 1, message: TEXT } },
  'notifications/message': { params: { level: 'info', data: TEXT } },
  'notifications/resources/updated': { params: { uri } },
  'notifications/elicitation/complete': { params: { elicitationId: 'e' } },
  'notifications/tasks/status': { params: { ...task, statusMessage: TEXT } },
  'notifications/tasks': { params: { ...task } },
}

/** Requests of the server that clients send as well. */
const ASKED = ['ping', 'tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']
const BOTH = ['notifications/progress', 'notifications/cancelled']

/** The messages of each kind in all protocol versions. */
export const MESSAGES = {
  calls: KNOWN_METHODS,
  clientNotes: [...BOTH, 'notifications/initialized', 'notifications/roots/list_changed'],
  serverNotes: [...BOTH, ...SERVER_METHODS],
  serverRequests: [...SERVER_REQUESTS, ...ASKED],
} as const

/** Parameters without which a message would name nothing. */
const NAMED: readonly string[] = ['name', 'uri', 'taskId', 'progressToken', 'requestId']

/** Returns the parameters of a method: all of them, or those that it cannot be without. */
export function paramsOf(method: string, full: boolean): object | undefined {
  const { params = {} } = FORMS[method] ?? {}
  if (full) return { ...params, _meta: { progressToken: 't', about: 'x' } }
  const named = Object.entries(params).filter(([key]) => NAMED.includes(key))
  return named.length === 0 ? undefined : Object.fromEntries(named)
}

let results = 0

/** Returns the result of a method, unlike any before; or one with nothing in it. */
export function resultOf(method: string, full: boolean): object {
  return full ? { ...FORMS[method]?.result, _meta: { about: results++ } } : {}
}
