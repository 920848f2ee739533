/** The limits of W3C Baggage. */
const MAX_BYTES = 8192
const MAX_MEMBERS = 64
/** A member: key, value, and properties, which are not read. */
const MEMBER =
  /^[ \t]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)[ \t]*=[ \t]*([!#-+\--:<-[\]-~]*)[ \t]*(?:;[\t -~]*)?$/

/**
 * Reads baggage as W3C defines it, with values percent-decoded once. Leaves out invalid members and
 * those after the 64th; of baggage above 8,192 bytes it reads nothing.
 */
export function parseBaggage(text: string): ReadonlyMap<string, readonly string[]> {
  const members = new Map<string, string[]>()
  if (text.length > MAX_BYTES) return members
  for (const member of text.split(',', MAX_MEMBERS)) {
    const [, key, encoded = ''] = MEMBER.exec(member) ?? []
    const value = key === undefined ? undefined : decoded(encoded)
    if (key === undefined || value === undefined) continue
    const values = members.get(key)
    if (values === undefined) members.set(key, [value])
    else values.push(value)
  }
  return members
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
