import * as fc from 'fast-check'
import { parseRules } from '../../src/rules/file/parse.ts'
import { rulesJsonSchema } from '../../src/rules/file/schema.ts'

/** A fault as it is written in a rules file. */
export type WrittenFault = string | Readonly<Record<string, unknown>>

const root = rulesJsonSchema() as unknown as Shape
const item = (root.definitions!['rule']!.properties!['faults'] as Shape).items!
const faultObject = item.anyOf?.find(({ type }) => type === 'object') ?? item

/** Part of a JSON schema, as far as something can be made of it. */
interface Shape {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly definitions?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Shape | boolean
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minItems?: number
}

/** Texts by the format that they are to have. All that is a time or a rate is short. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  'squall-duration': ['0ms', '1ms', '3ms', '12ms'],
  'squall-size': ['0B', '1B', '17B', '64KiB', '1MiB'],
  'squall-percentage': ['0%', '12.5%', '50%', '100%'],
  'squall-glob': ['hit', 'h*', '*', 'nothing'],
}

const TEXTS = ['', 'x', '/value', '/list/*', '/list/0/a', 'https://a.example/x', 'value', 'ünï 🌧']

/** Detects configurations that take too long, or that affect calls that the rule did not match. */
const UNFIT: Readonly<Record<string, (config: Readonly<Record<string, unknown>>) => boolean>> = {
  hang: (config) => config['for'] === undefined,
  throttle: ({ rate, chunk }) => !['64KiB', '1MiB'].includes(String(rate)) || chunk === '1B',
  reset: ({ refuse }) => refuse !== undefined,
  delay: ({ max }) => max === undefined,
}

/** The faults of rules about calls, by their names in the schema. */
export const FAULT_NAMES = Object.keys(faultObject.properties!).filter(
  (name) => name !== 'connection',
)

/** Any valid fault, found by the shape of the schema alone. */
export const anyFault: fc.Arbitrary<WrittenFault> = fc
  .constantFrom(...FAULT_NAMES)
  .chain((name) => valid(name, faultObject.properties![name]!))

function valid(name: string, shape: Shape): fc.Arbitrary<WrittenFault> {
  return valueOf(shape)
    .map((config) => withBound(name, config as Record<string, unknown>))
    .filter((config) => UNFIT[name]?.(config) !== true && isValid({ [name]: config }))
    .map((config) => ({ [name]: config }))
}

/** Bounds what a fault takes: a distribution without an upper end, and a large result that trickles. */
function withBound(name: string, config: Record<string, unknown>): Record<string, unknown> {
  if (name === 'delay') return { ...config, max: '12ms' }
  if (name === 'inflate') {
    return ['1B', '17B'].includes(String(config['to'])) ? config : { ...config, to: '16KiB' }
  }
  return name === 'throttle' ? { ...config, rate: '64KiB' } : config
}

function isValid(fault: WrittenFault): boolean {
  const rule = { name: 'r', match: { method: '*' }, faults: [fault] }
  return parseRules(JSON.stringify({ rules: [rule] })).ok
}

function valueOf(shape: Shape): fc.Arbitrary<unknown> {
  if (shape.anyOf !== undefined) return fc.oneof(...shape.anyOf.map((each) => valueOf(each)))
  if (shape.enum !== undefined) return fc.constantFrom(...shape.enum)
  switch ([shape.type].flat()[0]) {
    case 'string':
      return fc.constantFrom(...(FORMATS[shape.format ?? ''] ?? TEXTS))
    case 'integer':
      return fc.integer(range(shape))
    case 'number':
      return fc.double({ min: shape.minimum ?? 0.5, max: shape.maximum ?? 100, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valueOf(shape.items ?? {}), { minLength: shape.minItems ?? 0, maxLength: 3 })
    case 'object':
      return objectOf(shape)
    case undefined:
    default:
      return fc.constantFrom<unknown>(null, 0, 'any', { a: [1] })
  }
}

/** Few keys at a time: most of them go with each other seldom. */
function objectOf({
  properties,
  required = [],
  additionalProperties,
}: Shape): fc.Arbitrary<unknown> {
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? additionalProperties : {}
    return fc.dictionary(fc.constantFrom('/value', '/list', 'x-a', 'value'), valueOf(values), {
      minKeys: 1,
      maxKeys: 2,
    })
  }
  const optional = Object.keys(properties).filter((key) => !required.includes(key))
  return fc.subarray(optional, { maxLength: Math.min(3, optional.length) }).chain((keys) => {
    const all = [...required, ...keys].map((key) => [key, valueOf(properties[key]!)] as const)
    return fc.record(Object.fromEntries(all))
  })
}

function range({ minimum = 0, maximum = 1_000_000 }: Shape): { min: number; max: number } {
  return { min: minimum, max: Math.min(maximum, minimum < 100 ? minimum + 4 : maximum) }
}
