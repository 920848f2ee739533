/** The fields of an event. */
export interface SseFields {
  /** Undefined when missing or empty: both mean `message`. */
  readonly event: string | undefined
  readonly id: string | undefined
  readonly retry: number | undefined
  /** Data lines joined by LF; undefined when there was no data line. */
  readonly data: string | undefined
}

/** The fields of an event without any, such as a comment. */
export const NO_FIELDS: SseFields = {
  event: undefined,
  id: undefined,
  retry: undefined,
  data: undefined,
}

/** Returns true for an event that has none of the fields. */
export function hasNoFields({ data, event, id, retry }: SseFields): boolean {
  return data === undefined && event === undefined && id === undefined && retry === undefined
}

/** Reads the lines of one event. With `first` the bytes begin the stream and may have a BOM. */
export function parseSseFields(raw: Buffer, first: boolean): SseFields {
  const text = raw.toString('utf8')
  let event: string | undefined
  let id: string | undefined
  let retry: number | undefined
  let data: string | undefined
  /** The data lines behind the first. */
  let more: string[] | undefined
  let start = first && text.charCodeAt(0) === 0xfeff ? 1 : 0
  // A position is searched again only after the loop has passed it, which keeps the search linear.
  let lf = -1
  let cr = -1
  while (start < text.length) {
    if (lf < start) lf = positionOf(text, '\n', start)
    if (cr < start) cr = positionOf(text, '\r', start)
    const end = lf < cr ? lf : cr
    if (end > start) {
      const colon = colonBefore(text, start, end)
      if (isField(text, 'data', start, colon)) {
        const value = valueOf(text, colon, end)
        if (data === undefined) data = value
        else if (more === undefined) more = [value]
        else more.push(value)
      } else if (isField(text, 'event', start, colon)) {
        const value = valueOf(text, colon, end)
        event = value === '' ? undefined : value
      } else if (isField(text, 'id', start, colon)) {
        const value = valueOf(text, colon, end)
        if (!value.includes('\0')) id = value
      } else if (isField(text, 'retry', start, colon)) {
        const value = valueOf(text, colon, end)
        if (/^[0-9]+$/.test(value)) retry = Math.min(Number(value), Number.MAX_SAFE_INTEGER)
      }
    }
    start = end + 1
  }
  if (more !== undefined) data = `${data}\n${more.join('\n')}`
  return { event, id, retry, data }
}

function positionOf(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from)
  return at < 0 ? text.length : at
}

/** Finds the colon of a field; a colon behind the longest known name does not matter. */
function colonBefore(text: string, start: number, end: number): number {
  const limit = Math.min(end, start + 6)
  for (let i = start; i < limit; i++) if (text.charCodeAt(i) === 0x3a) return i
  return end - start <= 5 ? end : -1
}

function isField(text: string, name: string, start: number, colon: number): boolean {
  return colon - start === name.length && text.startsWith(name, start)
}

/**
 * Returns the text behind the colon, without one leading space; a line without a colon has an empty
 * value.
 */
function valueOf(text: string, colon: number, end: number): string {
  if (colon === end) return ''
  const from = text.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1
  return from < end ? text.slice(from, end) : ''
}
