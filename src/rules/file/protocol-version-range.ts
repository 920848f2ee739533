import { isProtocolVersionDate } from '../../mcp/protocol-version.ts'

interface Bound {
  readonly operator: '=' | '<' | '<=' | '>' | '>='
  readonly protocolVersion: string
}

/** Returns true for a protocol version in a range. */
export type ProtocolVersionTest = (protocolVersion: string) => boolean

/**
 * Reads a range of protocol versions: a protocol version, or bounds such as `>=2025-06-18` or
 * `>=2025-03-26 <2025-11-25` that must all hold. Undefined when it is none.
 */
export function parseProtocolVersionRange(text: string): ProtocolVersionTest | undefined {
  const bounds: Bound[] = []
  for (const part of text
    .replace(/([<>]=?)\s+/g, '$1')
    .trim()
    .split(/[\s,]+/)) {
    const found = /^([<>]=?|=)?(.+)$/.exec(part)
    if (found === null) return undefined
    const operator = (found[1] ?? '=') as Bound['operator']
    const protocolVersion = found[2]!
    if (!isProtocolVersionDate(protocolVersion)) return undefined
    bounds.push({ operator, protocolVersion })
  }
  return (protocolVersion) => {
    for (const bound of bounds) if (!holds(bound, protocolVersion)) return false
    return true
  }
}

function holds({ operator, protocolVersion: bound }: Bound, protocolVersion: string): boolean {
  if (operator === '=') return protocolVersion === bound
  // Other texts from clients have no order.
  if (!isProtocolVersionDate(protocolVersion)) return false
  if (protocolVersion === bound) return operator.endsWith('=')
  return operator.startsWith('<') ? protocolVersion < bound : protocolVersion > bound
}
