import { isRecord } from '../../../base/values.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { CallFaults } from '../call-faults.ts'

/** Returns the call of the exchange to which an event belongs, if that is certain. */
export function ownerOf(
  calls: readonly CallFaults[],
  message: Message | undefined,
): CallFaults | undefined {
  if (calls.length <= 1) return calls[0]
  if (message?.kind === 'result' || message?.kind === 'error') {
    return calls.find(({ call, responded }) => !responded && call!.id === message.id)
  }
  if (message?.kind !== 'notification' || !isRecord(message.params)) return undefined
  const token = message.params['progressToken']
  if (token === undefined) return undefined
  return calls.find(({ call }) => call!.progressToken === token)
}

/** Returns the call that a message ends, if any. */
export function endedBy(
  calls: readonly CallFaults[],
  message: Message | undefined,
): CallFaults | undefined {
  if (message?.kind !== 'result' && message?.kind !== 'error') return undefined
  const own = calls.find(({ call }) => call!.id === message.id)
  return own ?? (message.id === null && calls.length === 1 ? calls[0] : undefined)
}
