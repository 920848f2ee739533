import { canonicalJson, isRecord } from '../../base/values.ts'
import { isOther } from '../../mcp/call.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import type { FaultContext } from '../fault.ts'

/** The key of earlier responses to the same call; undefined where there is no call. */
export function aboutOf(
  { call }: FaultContext,
  withArguments: boolean,
): readonly unknown[] | undefined {
  if (call === undefined || isOther(call)) return undefined
  const parts = [call.method, call.name ?? null, isModern(call.protocolVersion)]
  return withArguments ? [...parts, canonicalJson(argumentsOf(call.params))] : parts
}

/** All that is asked for, less what differs from call to call. */
function argumentsOf(params: unknown): unknown {
  if (!isRecord(params)) return params
  const { _meta: _, ...rest } = params
  return rest
}

/**
 * A result that is whole by itself: no failure, no question back to the client, no task to poll.
 */
export function isPlainResult(message: Message | undefined): boolean {
  if (message?.kind !== 'result' || !isRecord(message.result)) return false
  const { isError, resultType = 'complete', task } = message.result
  return isError !== true && resultType === 'complete' && task === undefined
}
