/** An event has more in it than is read. */
export class EventTooLongError extends Error {
  override readonly name = 'EventTooLongError'
}

const DEFAULT_MOST = 4 * 1024 * 1024

/**
 * Takes an event stream apart that says `data:` on one line per event, as `/api/events` does. More
 * characters than `most` in one line are refused.
 */
export function eventReader(
  onData: (data: string) => void,
  most = DEFAULT_MOST,
): (part: string) => void {
  let parts: string[] = []
  let length = 0
  return (part) => {
    let start = 0
    for (let end = part.indexOf('\n'); end >= 0; end = part.indexOf('\n', start)) {
      parts.push(part.slice(start, end))
      start = end + 1
      const line = parts.join('')
      parts = []
      length = 0
      if (line.length > most) throw new EventTooLongError('sent an event that is too long')
      if (line.startsWith('data: ')) onData(line.slice('data: '.length))
    }
    const rest = part.slice(start)
    length += rest.length
    if (length > most) throw new EventTooLongError('sent an event that is too long')
    if (rest !== '') parts.push(rest)
  }
}
