import { mediaType } from './headers.ts'

/** True when an Accept value names exactly this media type (lower case), other than with `q=0`. */
export function acceptsType(value: string, type: string): boolean {
  let start = 0
  while (start < value.length) {
    let end = value.indexOf(',', start)
    if (end < 0) end = value.length
    const element = value.slice(start, end)
    if (mediaType(element) === type && !isRefused(element)) return true
    start = end + 1
  }
  return false
}

/** `q=0` names a type in order to turn it down. */
function isRefused(element: string): boolean {
  return element.includes(';') && /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i.test(element)
}
