import { mediaType } from './headers.ts'

/** Returns true when an Accept value names exactly this media type (lower case) without `q=0`. */
export function acceptsType(value: string, type: string): boolean {
  return value.split(',').some((element) => mediaType(element) === type && !isExcluded(element))
}

/** Returns true for `q=0`, which excludes the type. */
function isExcluded(element: string): boolean {
  return element.includes(';') && /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i.test(element)
}
