import { counted, sizeText } from '../../base/units.ts'
import type { ResponseOffset } from './response-offset.ts'
import type { CutOffset } from './cut-output.ts'
import { NOTHING, type Outlook, type OutlookInput } from './outlook.ts'

/** The outlook of a fault that acts at an offset in the response. */
export function offsetOutlook(
  offset: ResponseOffset | undefined,
  { response, call, ends }: OutlookInput,
  does: string,
): Outlook {
  const { bytes, events } = offset ?? {}
  if (bytes !== undefined) return { by: 'output', does, needs: longer(bytes) }
  if (response === 'body') return NOTHING
  if (events !== undefined) {
    const needs = events === 0 ? undefined : `a stream of ${counted(events, 'event')}`
    return { by: 'output', does, needs }
  }
  // Without a call there is no event with a response.
  return call === undefined || !ends ? NOTHING : { by: 'output', does }
}

/** The outlook of a cut, which needs something behind it. */
export function cutOutlook(
  { bytes, events, percent }: CutOffset,
  { response, call, ends }: OutlookInput,
  does: string,
): Outlook {
  if (bytes !== undefined) return { by: 'output', does, needs: longer(bytes) }
  if (events === undefined) {
    const hasResponse = response === 'body' || (call !== undefined && ends)
    return percent === 100 || !hasResponse ? NOTHING : { by: 'output', does }
  }
  if (response === 'body') return NOTHING
  const needs = events === 0 ? undefined : `${counted(events, 'event')} before the response`
  return { by: 'output', does, needs }
}

function longer(bytes: number): string | undefined {
  return bytes === 0 ? undefined : `a response of more than ${sizeText(bytes)}`
}
