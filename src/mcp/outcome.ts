import { isRecord } from '../base/values.ts'
import type { Call, Outcome } from './call.ts'
import type { Message } from './message.ts'
import { isModern } from './protocol-version.ts'

/** What a result or an error message says by itself, whatever was called. */
export function outcomeOfMessage(message: Message): Outcome {
  if (message.kind === 'error') return 'rpc_error'
  if (message.kind !== 'result') return 'incomplete'
  return isFailedResult(message.result) ? 'tool_error' : 'ok'
}

/** How a call ended that was answered by this message. */
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

/** Tool and task results say so themselves when the work failed. */
function isFailedResult(result: unknown): boolean {
  return isRecord(result) && result['isError'] === true
}

/**
 * Since 2026-07-28 a task's end stands in `tasks/get` itself. Before, `tasks/result` brings it, and a
 * failed status seen while polling would count the same failure twice.
 */
function outcomeOfTask(call: Call, result: unknown): Outcome {
  if (!isRecord(result)) return 'ok'
  if (isFailedResult(result['result'])) return 'tool_error'
  if (result['status'] !== 'failed') return 'ok'
  if (isRecord(result['error'])) return 'rpc_error'
  return isModern(call.protocolVersion) ? 'tool_error' : 'ok'
}

/** Clients try the newest handshake first; being told 'not here' is how they learn the protocol version. */
function isNegotiation(method: string, error: unknown): boolean {
  if (!isRecord(error)) return false
  const code = error['code']
  if (method === 'server/discover') {
    // Older servers also answer an unknown first request as invalid (-32600) or with -32602.
    return code === -32601 || code === -32022 || code === -32600 || code === -32602
  }
  if (method !== 'initialize') return false
  if (code === -32601 || code === -32022) return true
  // The older way to say 'not this protocol version, but these'.
  const data = error['data']
  return code === -32602 && isRecord(data) && Array.isArray(data['supported'])
}
