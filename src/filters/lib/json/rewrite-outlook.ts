import { isOther } from '../../../mcp/call.ts'
import { isKnownMethod, mayHaveText } from '../text-outlook.ts'
import { isInputRequest, NOTHING, type Outlook, type OutlookInput } from '../outlook.ts'
import { writtenPointers, type RewriteConfig } from './rewrite-schema.ts'

/** Predicts the effect of a rewrite. */
export function rewriteOutlook(config: RewriteConfig, { call }: OutlookInput): Outlook {
  const { in: where } = config
  if (where === 'arguments') {
    if (call === undefined || isOther(call)) return NOTHING
    if (isKnownMethod(call.method) && !WITH_ARGUMENTS.includes(call.method)) return NOTHING
    const does = 'the upstream receives changed arguments'
    return { by: 'request', asks: 'edit', does, needs: 'arguments with values to change' }
  }
  if (where === 'message') return ofMessage(config, call)
  const isList = where !== 'result'
  if (isList && call !== undefined && call.method !== 'tools/list') return NOTHING
  if (!isList && !mayHaveText(call)) return NOTHING
  // Notifications and requests of the server have texts, but no result.
  if (!isList && config.text === undefined && !hasResult(call)) return NOTHING
  const needs = isList ? 'a tool list with values to change' : 'a result with values to change'
  return { by: 'response', does: 'the JSON in its response is changed', needs }
}

/** Requests and notifications have parameters, responses a result or an error. */
function ofMessage(config: RewriteConfig, call: OutlookInput['call']): Outlook {
  const pointers = writtenPointers(config).filter(
    // A request for input is part of a result.
    (pointer) => !isInputRequest(call) || !/^\/error(?:\/|$)/.test(pointer),
  )
  const ofParams = pointers.map((pointer) => /^\/params(?:\/|$)/.test(pointer))
  if (call !== undefined && call.kind !== 'response' && ofParams.includes(true)) {
    const does =
      call.from === 'server'
        ? 'its parameters are changed'
        : 'the upstream receives changed parameters'
    return { by: 'request', asks: 'edit', does, needs: 'parameters with values to change' }
  }
  if (!ofParams.includes(false)) return NOTHING
  if (!hasResult(call)) return NOTHING
  return {
    by: 'response',
    does: 'its response is changed',
    needs: 'a message with values to change',
  }
}

/** The requests with arguments. */
const WITH_ARGUMENTS = ['tools/call', 'prompts/get']

/** Returns true for a message with a result, or in one. */
function hasResult(call: OutlookInput['call']): boolean {
  if (call === undefined || call.kind === 'response') return true
  return call.kind === undefined && (call.from !== 'server' || isInputRequest(call))
}
