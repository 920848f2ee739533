/** Header lines exactly as on the wire: name, value, name, value, … */
export type HeaderLines = readonly string[]

/** The head of a request. Values are latin1 strings: one character is one byte. */
export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly version: '1.0' | '1.1'
  readonly headers: HeaderLines
}

export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly headers: HeaderLines
}

/** Returns the first value of a header, or undefined. `name` must be in lower case. */
export function headerValue(lines: HeaderLines, name: string): string | undefined {
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === name.length && (key === name || key.toLowerCase() === name)) {
      return lines[i + 1]
    }
  }
  return undefined
}

/** Returns all values of a header, in order. `name` must be in lower case. */
export function headerValues(lines: HeaderLines, name: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (key.length === name.length && key.toLowerCase() === name) values.push(lines[i + 1]!)
  }
  return values
}

/** Returns the lines without those that `isDropped` selects by their lower-case name. */
export function linesWithout(lines: HeaderLines, isDropped: (name: string) => boolean): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    if (!isDropped(lines[i]!.toLowerCase())) kept.push(lines[i]!, lines[i + 1]!)
  }
  return kept
}

/** Writes the lines for the wire, without the blank line at the end. */
export function linesText(lines: HeaderLines): string {
  let text = ''
  for (let i = 0; i + 1 < lines.length; i += 2) text += `${lines[i]!}: ${lines[i + 1]!}\r\n`
  return text
}

/**
 * Returns the media type of a Content-Type or Accept element, lower-cased and without parameters.
 */
export function mediaType(value: string | undefined): string {
  if (value === undefined) return ''
  const end = value.indexOf(';')
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase()
}

/** Returns the path of a request target in origin or absolute form, without the query. */
export function targetPath(target: string): string {
  let start = 0
  if (!target.startsWith('/')) {
    const authority = target.indexOf('://')
    if (authority > 0) {
      start = target.indexOf('/', authority + 3)
      if (start < 0) return '/'
    }
  }
  const query = target.indexOf('?', start)
  return query < 0 ? target.slice(start) : target.slice(start, query)
}
