import { canonicalJson, isRecord, jsonInText, parsedJson, sha256Of } from '#base'
import { makeCheck } from '#checks/baseline'
import { BASELINE_FORMAT } from './file-schemas.ts'
import { LoadError } from './load-error.ts'

/** The shapes of results in a run without faults. */
export interface Baseline {
  readonly schema: typeof BASELINE_FORMAT
  /** Keyed by tool and digest of the arguments. */
  readonly responses: Readonly<Record<string, Shape>>
}

/** The share by which a value may be smaller than in the baseline. */
const TOLERANCE = 0.1
const MAX_RESPONSES = 20_000

/** Returns the key of a call: the tool and its arguments. */
export function responseKey(tool: string, args: Readonly<Record<string, unknown>>): string {
  const digest = sha256Of(canonicalJson(args)).slice(0, 16)
  return `${tool}/${digest}`
}

/** Collects the shapes of results. */
export class BaselineRecorder {
  readonly #responses = new Map<string, Shape>()

  add(key: string, result: unknown): void {
    const shape = shapeOf(result)
    const before = this.#responses.get(key)
    if (before === undefined && this.#responses.size >= MAX_RESPONSES) return
    this.#responses.set(key, before === undefined ? shape : commonShape(before, shape))
  }

  baseline(): Baseline {
    return { schema: BASELINE_FORMAT, responses: Object.fromEntries(this.#responses) }
  }
}

/** Returns true when a result lacks nothing of the baseline, or is not in the baseline. */
export function asInBaseline(baseline: Baseline, key: string, result: unknown): boolean {
  const wanted = Object.hasOwn(baseline.responses, key) ? baseline.responses[key] : undefined
  return wanted === undefined || hasAll(shapeOf(result), wanted)
}

/** Parses a baseline file. Throws a `LoadError`. */
export function parseBaseline(text: string): Baseline {
  const value = parsedJson(text)
  if (value === undefined) throw invalid('is not valid JSON')
  if (fits(value)) return value as Baseline
  throw invalid(`must have the format ${BASELINE_FORMAT}`)
}

const fits = makeCheck(() => ({}))

function invalid(why: string): LoadError {
  return new LoadError(
    'INVALID_INPUT',
    `the baseline ${why}`,
    'record one with --record-baseline on a run without faults',
  )
}

/** The size of each part of a value by JSON Pointer; all items of an array share a path. */
type Shape = Readonly<Record<string, number>>

const MAX_PATHS = 500
const MAX_DEPTH = 16
const MAX_ITEMS = 1000

/** Maps each path to its size: items of arrays, characters of texts, 1 for other values. */
function shapeOf(value: unknown): Shape {
  const shape = new Map<string, number>()
  walk(value, '', 0, shape)
  return Object.fromEntries(shape)
}

function walk(value: unknown, path: string, depth: number, shape: Map<string, number>): void {
  if (depth > MAX_DEPTH || (shape.size >= MAX_PATHS && !shape.has(path))) return
  const inner = typeof value === 'string' ? jsonInText(value) : undefined
  if (inner !== undefined) {
    walk(inner, `${path}:json`, depth + 1, shape)
    return
  }
  const before = shape.get(path) ?? 0
  shape.set(path, before + sizeOf(value))
  if (Array.isArray(value)) {
    for (const item of value.slice(0, MAX_ITEMS)) walk(item, `${path}/*`, depth + 1, shape)
  } else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) {
      walk(each, `${path}/${key}`, depth + 1, shape)
    }
  }
}

function sizeOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 1
}

/** Returns true unless `seen` has clearly less than `wanted` at some path. */
function hasAll(seen: Shape, wanted: Shape): boolean {
  return Object.entries(wanted).every(
    ([path, size]) => Object.hasOwn(seen, path) && seen[path]! >= size * (1 - TOLERANCE),
  )
}

/** Returns the paths that both have, each with its smaller size. */
function commonShape(a: Shape, b: Shape): Shape {
  const common = Object.keys(a).filter((path) => Object.hasOwn(b, path))
  return Object.fromEntries(common.map((path) => [path, Math.min(a[path]!, b[path]!)]))
}
