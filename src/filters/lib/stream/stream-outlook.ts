import { isOther } from '../../../mcp/call.ts'
import type { EventChoice } from './event-choice.ts'
import { isInputRequest, NOTHING, type Outlook, type OutlookInput } from '../outlook.ts'

interface StreamChoices {
  readonly drop?: EventChoice
  readonly duplicate?: EventChoice
  readonly reorder?: EventChoice
  readonly wrongId?: unknown
  readonly split?: EventChoice
  readonly close?: EventChoice
}

/** Predicts the effect of damage to a stream. */
export function streamOutlook(config: StreamChoices, setting: OutlookInput): Outlook {
  const { drop, duplicate, reorder, wrongId, split, close = 'last' } = config
  const { response, call, ends } = setting
  if (wrongId !== undefined) {
    if (isOther(call) && call?.kind !== 'response' && !isInputRequest(call)) return NOTHING
    const needs = call === undefined ? 'a JSON-RPC response' : undefined
    return { by: 'response', does: 'its response has a different ID', needs }
  }
  if (response === 'body') return NOTHING
  if (split !== undefined) {
    const found = chosen(split, call !== undefined && ends)
    return 'cannot' in found
      ? found
      : { by: 'output', does: `${named(split)} split into pieces`, ...found }
  }
  if (reorder !== undefined && isOther(call)) {
    const isMeant = typeof reorder !== 'number' || reorder === 1
    if (call?.from !== 'server' || call.kind !== 'notification' || !isMeant) return NOTHING
    return {
      by: 'request',
      does: 'it arrives after the next message',
      needs: 'a later message on the stream',
    }
  }
  if (reorder !== undefined) {
    if (reorder === 'last' && !ends) return NOTHING
    const needs = 'at least two messages on the stream'
    return { by: 'response', any: true, does: `${named(reorder)} delivered out of order`, needs }
  }
  const closes = drop === undefined && duplicate === undefined
  if (closes && isOther(call)) return NOTHING
  const [choice, does] =
    drop !== undefined
      ? [drop, `${named(drop)} dropped`]
      : duplicate !== undefined
        ? [duplicate, `${named(duplicate)} sent twice`]
        : [close, 'the stream ends early']
  const isNote = call?.kind === 'notification'
  if (isOther(call) && choice === 'notifications' && !isNote) return NOTHING
  const found = isNote && choice === 'notifications' ? SURE : chosen(choice, ends)
  if ('cannot' in found) return found
  const of = isOther(call) ? `it ${drop === undefined ? 'arrives twice' : 'is lost'}` : does
  return { by: 'response', ...(choice !== 'last' && { any: true }), does: of, ...found }
}

const SURE = { needs: undefined }

/** Returns the condition under which an event is chosen. */
function chosen(
  choice: EventChoice,
  ends: boolean,
): { readonly needs: string | undefined } | Extract<Outlook, { readonly cannot: unknown }> {
  if (choice === 'last') return ends ? { needs: undefined } : { cannot: 'nothing_to_act_on' }
  if (choice === 'notifications') return { needs: 'a notification on the stream' }
  if ((choice === 'all' || choice === 1) && ends) return { needs: undefined }
  const least = choice === 'all' ? 1 : choice
  return { needs: least === 1 ? 'a message on the stream' : `${least} messages on the stream` }
}

function named(choice: EventChoice): string {
  if (typeof choice === 'number') return `event ${choice}`
  return { last: 'its response', all: 'every event', notifications: 'notifications' }[choice]
}
