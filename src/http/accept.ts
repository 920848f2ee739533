import { mediaType } from './headers.ts'

/** Returns true when an Accept value names exactly this media type (lower case) without `q=0`. */
export function acceptsType(value: string, type: string): boolean {
  let start = 0
  while (start < value.length) {
    let end = value.indexOf(',', start)
    if (end < 0) end = value.length
    const element = value.slice(start, end)
    if (mediaType(element) === type && !isExcluded(element)) return true
    start = end + 1
  }
  return false
}

/** Returns true for `q=0`, which excludes the type. */
function isExcluded(element: string): boolean {
  return element.includes(';') && /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i.test(element)
}
