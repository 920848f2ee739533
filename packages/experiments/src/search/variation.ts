import { fieldsOf, isRecord, quoted, readDuration, readPercent, readSize } from '#base'
import { LoadError } from '../load/load-error.ts'
import type { Magnitudes, Extent } from './bisection.ts'

/** A magnitude of the faults of a plan, and its range. */
export interface Variation {
  /** `percent`, or a fault and its parameter. */
  readonly path: readonly string[]
  readonly range: Extent
  /** Returns a magnitude as it is written into a plan. */
  readonly shown: (magnitude: number) => string
}

/** The parameters that are varied when only the fault is named. */
const PARAMETERS: Readonly<Record<string, string>> = {
  delay: 'fixed',
  throttle: 'rate',
  rateLimit: 'limit.calls',
}

const FORM = 'write percent=1%..50%, delay=50ms..5s, throttle=1MiB..1KiB or FAULT.PARAMETER=1..100'

interface Unit {
  readonly read: (text: string) => number | undefined
  readonly isWhole: boolean
  readonly suffix: string
}

const PERCENT: Unit = { read: readPercent, isWhole: false, suffix: '%' }
const signed = (text: string): number | undefined =>
  text.endsWith('%') ? readPercent(text) : undefined
/** The units of parameters, in the order in which they are tried. */
const UNITS: readonly Unit[] = [
  {
    read: (text) => (/^[0-9]{1,9}$/.test(text) ? Number(text) : undefined),
    isWhole: true,
    suffix: '',
  },
  { read: readDuration, isWhole: true, suffix: 'ms' },
  { read: readSize, isWhole: true, suffix: 'B' },
  { ...PERCENT, read: signed },
]

/** The magnitudes that are stronger the greater they are. */
const ASCENDING: ReadonlySet<string> = new Set(['percent', 'delay', 'hang'])
/** The parameters that are stronger the smaller they are. */
const DESCENDING: ReadonlySet<string> = new Set(['throttle.rate', 'rateLimit.limit.calls'])

/** Parses `percent=1%..50%` or `delay=50ms..5s`. Throws a `LoadError`. */
export function parseVariation(text: string): Variation {
  const match = /^([A-Za-z]+(?:\.[A-Za-z]+)*)=([^.]\S*?)\.\.(\S+)$/.exec(text)
  if (match === null) throw invalid(text, 'is not a valid range')
  const [, name = '', from = '', to = ''] = match
  const isPercent = name === 'percent'
  const units = isPercent ? [PERCENT] : UNITS
  for (const { read, isWhole, suffix } of units) {
    const mildest = read(from)
    const strongest = read(to)
    if (mildest === undefined || strongest === undefined) continue
    if (mildest === 0 || strongest === 0) throw invalid(text, 'begins or ends at 0')
    if (mildest === strongest) throw invalid(text, 'begins and ends with the same value')
    const path = pathOf(name)
    const isReversed =
      (ASCENDING.has(path[0]!) && mildest > strongest) ||
      (DESCENDING.has(path.join('.')) && mildest < strongest)
    if (isReversed) throw invalid(text, 'begins with the stronger value')
    const range = { mildest, strongest, isWhole }
    return { path, range, shown: (magnitude) => `${magnitude}${suffix}` }
  }
  throw invalid(text, 'begins and ends with different units')
}

/** Parses one range, or two of different parameters. Throws a `LoadError`. */
export function parseVariations(texts: readonly string[]): readonly Variation[] {
  const [first, second, ...more] = texts.map((text) => parseVariation(text))
  if (more.length > 0) {
    throw new LoadError(
      'INVALID_INPUT',
      `${texts.length} parameters are varied`,
      'vary at most two',
    )
  }
  if (second === undefined) return [first!]
  if (nameOf(first!) !== nameOf(second)) return [first!, second]
  throw new LoadError(
    'INVALID_INPUT',
    `${nameOf(second)} is varied twice`,
    'vary it once, or another parameter',
  )
}

/** Returns the parameter as it is shown: `percent` or `delay.fixed`. */
export function nameOf({ path }: Variation): string {
  return path.join('.')
}

/** Describes where a run measures: `percent 5%, delay.fixed 300ms`. */
export function placeText(variations: readonly Variation[], place: Magnitudes): string {
  return valuesAt(variations, place)
    .map(([variation, value]) => `${nameOf(variation)} ${variation.shown(value)}`)
    .join(', ')
}

/** Returns each parameter with its magnitude. */
export function valuesAt(
  variations: readonly Variation[],
  { magnitude, second }: Magnitudes,
): readonly (readonly [Variation, number])[] {
  return variations.map((variation, index) => [variation, index === 0 ? magnitude : second!])
}

function pathOf(name: string): readonly string[] {
  const [fault = '', ...parameter] = name.split('.')
  if (fault === 'percent') return ['percent']
  const path = parameter.length > 0 ? parameter : (PARAMETERS[fault]?.split('.') ?? [])
  if (path.length > 0) return [fault, ...path]
  throw invalid(name, 'is not a parameter of the fault')
}

/** Returns rules with a magnitude in each fault that has the parameter; undefined without one. */
export function variedRules(
  rules: readonly unknown[],
  { path: [fault = '', ...parameter], shown }: Variation,
  magnitude: number,
): readonly unknown[] | undefined {
  const text = shown(magnitude)
  const value = /^\d+$/.test(text) ? Number(text) : text
  let isFound = false
  const varied = rules.map((rule) => {
    const { faults, ...rest } = fieldsOf(rule)
    if (!Array.isArray(faults)) return rule
    const changed = faults.map((each: unknown) => {
      const inner = fieldsOf(each)[fault]
      if (inner === undefined || !hasParameter(inner, parameter)) return each
      isFound = true
      return { ...fieldsOf(each), [fault]: withValue(inner, parameter, value) }
    })
    return { ...rest, faults: changed }
  })
  return isFound ? varied : undefined
}

/** Returns true when a fault has the parameter, so that the search changes no other form of it. */
function hasParameter(parameters: unknown, path: readonly string[]): boolean {
  const [key = '', ...rest] = path
  if (!isRecord(parameters) || parameters[key] === undefined) return false
  return rest.length === 0 || hasParameter(parameters[key], rest)
}

function withValue(
  parameters: unknown,
  [key = '', ...rest]: readonly string[],
  value: unknown,
): object {
  const fields = fieldsOf(parameters)
  const next: unknown = rest.length === 0 ? value : withValue(fields[key], rest, value)
  return { ...fields, [key]: next }
}

function invalid(text: string, why: string): LoadError {
  return new LoadError('INVALID_INPUT', `the range ${quoted(text)} ${why}`, FORM)
}
