import { isOther } from '../../../mcp/call.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { NOTHING, type Outlook, type OutlookInput } from '../outlook.ts'
import { writtenPointers, type RewriteConfig } from './rewrite-schema.ts'

/** Predicts the effect of a rewrite. */
export function rewriteOutlook(config: RewriteConfig, { call }: OutlookInput): Outlook {
  const { in: where } = config
  if (where === 'arguments') {
    if (call === undefined || isOther(call)) return NOTHING
    const does = 'the app gets other arguments'
    return { by: 'request', asks: 'edit', does, needs: 'arguments that have what it changes' }
  }
  if (where === 'message') return ofMessage(config, call)
  const isList = where !== 'result'
  if (isList && call !== undefined && call.method !== 'tools/list') return NOTHING
  const needs = isList ? 'a list of such tools' : 'a result that has what it changes'
  return { by: 'response', does: 'the JSON of its response is changed', needs }
}

/** Requests and notifications have parameters, responses a result or an error. */
function ofMessage(config: RewriteConfig, call: OutlookInput['call']): Outlook {
  const ofParams = writtenPointers(config).map((pointer) => /^\/params(?:\/|$)/.test(pointer))
  if (call !== undefined && call.kind !== 'response' && ofParams.includes(true)) {
    const does =
      call.from === 'server' ? 'its parameters are changed' : 'the app gets other parameters'
    return { by: 'request', asks: 'edit', does, needs: 'parameters that have what it changes' }
  }
  if (!ofParams.includes(false)) return NOTHING
  // From 2026-07-28 on, a request of the server stands in a result.
  const hasResult =
    call === undefined ||
    call.kind === 'response' ||
    (call.kind === undefined && (call.from !== 'server' || isModern(call.protocolVersion)))
  if (!hasResult) return NOTHING
  return {
    by: 'response',
    does: 'its response is changed',
    needs: 'a message that has what it changes',
  }
}
