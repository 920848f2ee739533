import { isRecord } from '../../../base/values.ts'
import type { Message } from '../../../mcp/message.ts'
import type { CallRun } from '../call-run.ts'

/** Which call of the exchange an event belongs to; undefined when nothing says so. */
export function ownerOf(
  calls: readonly CallRun[],
  message: Message | undefined,
): CallRun | undefined {
  if (calls.length <= 1) return calls[0]
  if (message?.kind === 'result' || message?.kind === 'error') {
    return calls.find(({ call, responded }) => !responded && call!.id === message.id)
  }
  if (message?.kind !== 'notification' || !isRecord(message.params)) return undefined
  const token = message.params['progressToken']
  if (token === undefined) return undefined
  return calls.find(({ call }) => call!.progressToken === token)
}
