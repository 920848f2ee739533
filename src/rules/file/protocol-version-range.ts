import { isRevisionDate } from '../../mcp/protocol-version.ts'

/** One bound of a range. */
interface Bound {
  readonly operator: '=' | '<' | '<=' | '>' | '>='
  readonly revision: string
}

/** Tells whether a protocol revision is in a range. */
export type RevisionTest = (revision: string) => boolean

/**
 * Reads a range of protocol revisions: a revision, or bounds such as `>=2025-06-18` or
 * `>=2025-03-26 <2025-11-25` that must all hold. Undefined when it is none.
 */
export function parseRevisionRange(text: string): RevisionTest | undefined {
  const bounds: Bound[] = []
  for (const part of text
    .replace(/([<>]=?)\s+/g, '$1')
    .trim()
    .split(/[\s,]+/)) {
    const found = /^([<>]=?|=)?(.+)$/.exec(part)
    if (found === null) return undefined
    const operator = (found[1] ?? '=') as Bound['operator']
    const revision = found[2]!
    if (!isRevisionDate(revision)) return undefined
    bounds.push({ operator, revision })
  }
  return (revision) => {
    for (const bound of bounds) if (!holds(bound, revision)) return false
    return true
  }
}

function holds({ operator, revision: bound }: Bound, revision: string): boolean {
  if (operator === '=') return revision === bound
  // Whatever else a client calls its revision has no place in the order.
  if (!isRevisionDate(revision)) return false
  if (revision === bound) return operator.endsWith('=')
  return operator.startsWith('<') ? revision < bound : revision > bound
}
