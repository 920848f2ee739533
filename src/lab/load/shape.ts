import { isRecord } from '../../base/values.ts'

/** The size of each place of a value, by its pointer; the items of an array share one place. */
export type Shape = Readonly<Record<string, number>>

const MAX_PLACES = 500
const MAX_DEPTH = 16
const MAX_ITEMS = 1000

/** Maps each path to its size: items of arrays, characters of texts, 1 for other values. */
export function shapeOf(value: unknown): Shape {
  const shape = new Map<string, number>()
  walk(value, '', 0, shape)
  return Object.fromEntries(shape)
}

function walk(value: unknown, place: string, depth: number, shape: Map<string, number>): void {
  if (depth > MAX_DEPTH || (shape.size >= MAX_PLACES && !shape.has(place))) return
  const inner = typeof value === 'string' ? jsonIn(value) : undefined
  if (inner !== undefined) {
    walk(inner, `${place}:json`, depth + 1, shape)
    return
  }
  const before = shape.get(place) ?? 0
  shape.set(place, before + sizeOf(value))
  if (Array.isArray(value)) {
    for (const item of value.slice(0, MAX_ITEMS)) walk(item, `${place}/*`, depth + 1, shape)
  } else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) {
      walk(each, `${place}/${key}`, depth + 1, shape)
    }
  }
}

function sizeOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 1
}

/** Many tools answer with JSON as text. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The first place of `wanted` of which `seen` has clearly less; undefined when there is none. */
export function lacksOf(seen: Shape, wanted: Shape, tolerance: number): string | undefined {
  for (const [place, size] of Object.entries(wanted)) {
    const has = Object.hasOwn(seen, place) ? seen[place]! : undefined
    if (has === undefined || has < size * (1 - tolerance)) return place === '' ? '/' : place
  }
  return undefined
}

/** Returns the paths that both have, each with its smaller size. */
export function commonShape(a: Shape, b: Shape): Shape {
  const common = Object.keys(a).filter((place) => Object.hasOwn(b, place))
  return Object.fromEntries(common.map((place) => [place, Math.min(a[place]!, b[place]!)]))
}
