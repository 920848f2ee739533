import { type Fields, isRecord, pointerTo, sameJson } from '#base'
import { commonPairs } from './common-pairs.ts'

/** One of the used operations of JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** Longer lists are replaced as a whole: comparing their elements would take too long. */
const MOST_COMPARED = 256

/**
 * Returns the operations that turn one JSON value, which may be at `path` of another one, into a
 * third; none for equal values. A missing parent is added together with its content.
 */
export function jsonPatch(before: unknown, after: unknown, path = ''): readonly PatchOperation[] {
  const operations: PatchOperation[] = []
  compare(before, after, path, operations)
  return operations
}

function compare(before: unknown, after: unknown, path: string, into: PatchOperation[]): void {
  // Unchanged parts are the same objects, however large and deep.
  if (before === after) return
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, into)
  else if (isRecord(before) && isRecord(after)) compareMaps(before, after, path, into)
  else into.push({ op: 'replace', path, value: after })
}

function compareMaps(before: Fields, after: Fields, path: string, into: PatchOperation[]): void {
  for (const key of Object.keys(before)) {
    if (!has(after, key)) into.push({ op: 'remove', path: pointerTo([key], path) })
  }
  for (const key of Object.keys(after)) {
    const value = after[key]
    if (value === undefined) continue
    const pointer = pointerTo([key], path)
    if (has(before, key)) compare(before[key], value, pointer, into)
    else into.push({ op: 'add', path: pointer, value })
  }
}

/**
 * Compares lists. Elements with equal names, or equal elements, correspond; the longest common
 * sequence stays, all other elements are removed and added.
 */
function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  into: PatchOperation[],
): void {
  if (before.length > MOST_COMPARED || after.length > MOST_COMPARED) {
    if (!sameJson(before, after)) into.push({ op: 'replace', path, value: after })
    return
  }
  const kept = commonPairs(before, after, isSame)
  const staying = new Set(kept.map(([i]) => i))
  for (let i = before.length - 1; i >= 0; i--) {
    if (!staying.has(i)) into.push({ op: 'remove', path: `${path}/${i}` })
  }
  const partners = new Map(kept.map(([i, j]) => [j, i]))
  after.forEach((value, j) => {
    const partner = partners.get(j)
    if (partner === undefined) into.push({ op: 'add', path: `${path}/${j}`, value })
    else compare(before[partner], value, `${path}/${j}`, into)
  })
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  const name = nameOf(one)
  return name === undefined ? sameJson(one, other) : name === nameOf(other)
}

function nameOf(value: unknown): string | undefined {
  const name = isRecord(value) ? value['name'] : undefined
  return typeof name === 'string' ? name : undefined
}

function has(map: Fields, key: string): boolean {
  return Object.hasOwn(map, key) && map[key] !== undefined
}
