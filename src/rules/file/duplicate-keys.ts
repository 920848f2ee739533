import { isMap, isScalar, isSeq } from 'yaml'
import type { Document } from 'yaml'

/** A key that its object already has. */
export interface DuplicateKey {
  readonly key: string
  readonly offset: number
}

const MAX_FOUND = 100

/** The keys that are in their object more than once, in order. The document's depth was checked before. */
export function duplicateKeys(document: Document.Parsed): readonly DuplicateKey[] {
  const found: DuplicateKey[] = []
  const visit = (node: unknown): void => {
    if (isSeq(node)) {
      for (const item of node.items) visit(item)
    } else if (isMap(node)) {
      const keys = new Set<string>()
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : ''
        if (keys.has(name) && found.length < MAX_FOUND) {
          found.push({ key: name, offset: (isScalar(key) ? key.range?.[0] : undefined) ?? 0 })
        }
        keys.add(name)
        visit(value)
      }
    }
  }
  visit(document.contents)
  return found
}
