import { createHash } from 'node:crypto'
import { isRecord } from '../../base/values.ts'
import { canonicalJson } from '../../base/json/canonical-json.ts'
import { LoadError } from './load-error.ts'
import { commonShape, lacksOf, type Shape, shapeOf } from './shape.ts'

/** The form of a file that holds a baseline. */
const BASELINE_SCHEMA = 'squall.baseline/1'

/** The shapes of results in a clean run. */
export interface Baseline {
  readonly schema: typeof BASELINE_SCHEMA
  /** By tool and digest of the arguments. */
  readonly responses: Readonly<Record<string, Shape>>
}

/** The share by which a value may be smaller than in the clean run. */
const TOLERANCE = 0.1
const MAX_RESPONSES = 20_000

/** Returns the key of a call: the tool and its arguments. */
export function responseKey(tool: string, args: Readonly<Record<string, unknown>>): string {
  const digest = createHash('sha256').update(canonicalJson(args)).digest('hex').slice(0, 16)
  return `${tool}/${digest}`
}

/** Collects how the results look. */
export class BaselineRecorder {
  readonly #responses = new Map<string, Shape>()

  add(key: string, result: unknown): void {
    const shape = shapeOf(result)
    const before = this.#responses.get(key)
    if (before === undefined && this.#responses.size >= MAX_RESPONSES) return
    this.#responses.set(key, before === undefined ? shape : commonShape(before, shape))
  }

  baseline(): Baseline {
    return { schema: BASELINE_SCHEMA, responses: Object.fromEntries(this.#responses) }
  }
}

/** True when a result has what it had in the clean run, or was never seen there. */
export function asInBaseline(baseline: Baseline, key: string, result: unknown): boolean {
  const wanted = Object.hasOwn(baseline.responses, key) ? baseline.responses[key] : undefined
  return wanted === undefined || lacksOf(shapeOf(result), wanted, TOLERANCE) === undefined
}

/** Reads the text of a file with a baseline. */
export function parseBaseline(text: string): Baseline {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw bad('is no JSON')
  }
  if (!isRecord(value) || value['schema'] !== BASELINE_SCHEMA) throw bad('has another schema')
  const { responses } = value
  const shapes = isRecord(responses) ? Object.values(responses) : undefined
  if (shapes === undefined || !shapes.every(isShape)) throw bad('has answers without sizes')
  return value as unknown as Baseline
}

function isShape(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((size) => typeof size === 'number')
}

function bad(why: string): LoadError {
  return new LoadError(
    'BAD_INPUT',
    `the baseline ${why}`,
    'record one with --record-baseline on a run without faults',
  )
}
