import { fieldsOf, isRecord } from '../base/values.ts'
import type { Call, Outcome } from './call.ts'
import type { Message } from './json-rpc.ts'
import { isModern } from './protocol-version.ts'

/** Returns the outcome of a message, independent of the called method. */
export function outcomeOfMessage(message: Message): Outcome {
  if (message.kind === 'error') return 'rpc_error'
  // Clients reject any other result than an object, and the call does not end well for them.
  if (message.kind !== 'result' || !isRecord(message.result)) return 'incomplete'
  return isFailedResult(message.result) ? 'tool_error' : 'ok'
}

/** Returns true for a result that asks for input: the client repeats the call with it. */
export function asksForInput(message: Message): boolean {
  return message.kind === 'result' && fieldsOf(message.result)['resultType'] === 'input_required'
}

/** Returns the outcome of a call from its response. */
export function outcomeOf(call: Call, message: Message): Outcome {
  if (message.kind === 'error') {
    return isNegotiation(call.method, message.error) ? 'ok' : 'rpc_error'
  }
  const outcome = outcomeOfMessage(message)
  if (outcome === 'ok' && call.method === 'tasks/get' && message.kind === 'result') {
    return outcomeOfTask(call, message.result)
  }
  return outcome
}

/** Returns true for tool and task results that report a failure. */
function isFailedResult(result: unknown): boolean {
  return isRecord(result) && result['isError'] === true
}

/**
 * Returns the outcome of `tasks/get`. Since 2026-07-28 it contains the result of the task. Before,
 * `tasks/result` returns the result, and counting a failed status here would count the same failure
 * twice.
 */
function outcomeOfTask(call: Call, result: unknown): Outcome {
  if (!isRecord(result)) return 'ok'
  if (isFailedResult(result['result'])) return 'tool_error'
  if (result['status'] !== 'failed') return 'ok'
  if (isRecord(result['error'])) return 'rpc_error'
  return isModern(call.protocolVersion) ? 'tool_error' : 'ok'
}

/**
 * Returns true for errors by which clients, which try the newest handshake first, find the protocol
 * version.
 */
function isNegotiation(method: string, error: unknown): boolean {
  const { code, data } = fieldsOf(error)
  if (method === 'server/discover') {
    // Older servers also reject an unknown first request as invalid (-32600) or with -32602.
    return code === -32601 || code === -32022 || code === -32600 || code === -32602
  }
  if (method !== 'initialize') return false
  if (code === -32601 || code === -32022) return true
  // The older form of an unsupported protocol version.
  return code === -32602 && Array.isArray(fieldsOf(data)['supported'])
}
