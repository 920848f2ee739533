/** An event as a browser would dispatch it, with what it holds of `retry`. */
export interface ReferenceEvent {
  readonly type: string
  readonly data: string
  readonly lastEventId: string
}

interface Source {
  readonly events: ReferenceEvent[]
  readonly retry: number | undefined
}

/**
 * The event stream algorithm of the HTML standard, said as plainly as possible: slow and obvious.
 */
export function referenceEvents(bytes: Uint8Array): Source {
  // TextDecoder drops a leading byte order mark, as the standard's UTF-8 decode does.
  const text = new TextDecoder().decode(bytes)
  const lines = text.split(/\r\n|\n|\r/)
  lines.pop() // what stands behind the last line end is no line yet
  const events: ReferenceEvent[] = []
  let data = ''
  let type = ''
  let lastEventId = ''
  let retry: number | undefined
  for (const line of lines) {
    if (line === '') {
      if (data !== '')
        events.push({ type: type || 'message', data: data.slice(0, -1), lastEventId })
      data = ''
      type = ''
      continue
    }
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const name = colon < 0 ? line : line.slice(0, colon)
    let value = colon < 0 ? '' : line.slice(colon + 1)
    if (value.startsWith(' ')) value = value.slice(1)
    if (name === 'event') type = value
    else if (name === 'data') data += `${value}\n`
    else if (name === 'id' && !value.includes('\0')) lastEventId = value
    else if (name === 'retry' && /^[0-9]+$/.test(value)) retry = Number(value)
  }
  return { events, retry }
}
