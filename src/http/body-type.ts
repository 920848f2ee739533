/**
 * Classifies a Content-Type: JSON, or the reason for which a server may read the body as JSON
 * anyway.
 */
export type BodyType = 'json' | 'charset' | 'content_type' | 'other' | 'none'

const JSON_TYPE = 'application/json'
const CHARSET = /^\s*charset/i
const UTF8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i

/** Reads a Content-Type. `json` means JSON in UTF-8 to every server. */
export function bodyType(value: string): BodyType {
  if (value === JSON_TYPE) return 'json'
  // Some servers accept the type anywhere in the value.
  if (!/json/i.test(value)) return 'other'
  const [type = '', ...parameters] = value.split(';')
  if (type.trim().toLowerCase() !== JSON_TYPE || value.includes(',')) return 'content_type'
  const charsets = parameters.filter((parameter) => CHARSET.test(parameter))
  return charsets.every((charset) => UTF8.test(charset)) ? 'json' : 'charset'
}
