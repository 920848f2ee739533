import { parse, stringify } from 'yaml'
import { isRecord } from '../../src/base/values.ts'
import {
  DURATION_FORMAT,
  PERCENT_FORMAT,
  SIZE_FORMAT,
} from '../../src/filters/lib/config-schema.ts'
import { faultUses, fileFindings } from '../../src/rules/file/file-findings.ts'
import { rulesJsonSchema } from '../../src/rules/file/schema.ts'
import { fileSchema, schemaFindings } from '../../src/rules/file/schema-findings.ts'
import * as check from '#checks/rules'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { CALL_FAULTS } from './one-fault.ts'

type Definition = Pick<
  (typeof CALL_FAULTS)[number],
  'name' | 'example' | 'schema' | 'oneOf' | 'goesWith'
>
type Config = Readonly<Record<string, unknown>>

const FILE = rulesJsonSchema()
const checked = fileSchema(FILE, check, check)

/** One way to write a fault. */
export interface Form {
  readonly fault: (typeof CALL_FAULTS)[number]['name']
  /** As in a rules file. */
  readonly text: string
  readonly use: RuleSpec['faults'][number]
}

/** The keywords of a schema that values are taken from. */
interface Node {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Node[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly items?: Node
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
}

/**
 * Returns the forms of a fault, from its definition: its example, the examples of its schema, each
 * alternative, and each value of each parameter. Forms with fewer parameters come first.
 */
export function formsOf(definition: Definition): readonly Form[] {
  const { name, example, oneOf = [], goesWith = {} } = definition
  const schema = definition.schema as Node
  const properties = schema.properties ?? {}
  const isMode = (key: string): boolean =>
    properties[key]!.enum !== undefined || properties[key]!.type === 'boolean'
  const alternatives = oneOf.map((key) => choicesOf(properties, key))
  const bases = oneOf.length === 0 ? [smallest(properties)] : alternatives.map(([first]) => first!)
  const others = Object.keys(properties).filter((key) => !oneOf.includes(key))
  const varied = bases.flatMap((base, index) =>
    others
      .filter((key) => index === 0 || isMode(key) || key in goesWith)
      .flatMap((key) => choicesOf(properties, key).map((choice) => ({ ...base, ...choice }))),
  )
  const shown = [...((schema.examples ?? []) as readonly Config[]), shownIn(name, example)]
  const configs = [
    ...bases,
    ...alternatives.flatMap((all) => all.slice(1)),
    ...varied,
    ...shown.map((config) => small(schema, config) as Config),
  ]
  const forms = validOf(definition, configs)
  // The first form of those with the same parameters stays.
  const distinct = new Map(forms.toReversed().map((form) => [sameText(form.use.config), form]))
  return forms.filter((form) => distinct.get(sameText(form.use.config)) === form)
}

/** The forms of all faults that rules about calls may have. */
export const FORMS: readonly Form[] = CALL_FAULTS.flatMap((fault) => formsOf(fault))

/** The same forms with a number that is the smallest, the largest or the next one. */
export const EDGES: readonly Form[] = CALL_FAULTS.flatMap(({ name, schema }) => {
  const texts = FORMS.filter(({ fault }) => fault === name).map(({ text }) => text)
  const configs = texts.flatMap((text) =>
    edgesOf(schema as Node, (parse(`{ ${text} }`) as Record<string, unknown>)[name], ''),
  )
  const edges = read(name, configs as readonly Config[]).flatMap((form) => form ?? [])
  return [...new Map(edges.map((form) => [form.text, form])).values()].filter(
    ({ text }) => !texts.includes(text),
  )
})

/** Returns the parameters of which the default is too large for a test. */
function smallest(properties: Readonly<Record<string, Node>>): Config {
  const sizes = Object.entries(properties).filter(
    ([, node]) => formatOf(node) === SIZE_FORMAT && node.default !== undefined,
  )
  return Object.assign({}, ...sizes.flatMap(([key]) => choicesOf(properties, key))) as Config
}

/** Returns a text that does not depend on the order of keys. */
function sameText(config: unknown): string {
  return JSON.stringify(config, (_, value: unknown) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

function choicesOf(properties: Readonly<Record<string, Node>>, key: string): readonly Config[] {
  const node = properties[key]!
  return valuesOf(node)
    .map((value) => small(node, value, key))
    .filter((value) => value !== node.default)
    .map((value) => ({ [key]: value }))
}

/** Returns the values of a parameter that its schema names, or one that it accepts. */
function valuesOf(node: Node): readonly unknown[] {
  const { type, enum: words = [], anyOf = [], examples = [] } = node
  if (formatOf(node) !== undefined)
    return anyOf.some((each) => each.type === 'boolean') ? [true, 1] : [1]
  const named = [...words, ...anyOf.flatMap((each) => each.enum ?? []), ...examples]
  if (type === 'boolean') return [true, false]
  const numbers = anyOf.some((each) => each.type === 'integer') ? [1] : []
  if (named.length + numbers.length > 0) return [...new Set([...named, ...numbers])]
  if (anyOf.length > 0) return valuesOf(anyOf[0]!)
  switch (type) {
    case 'integer':
    case 'number':
      return [node.default ?? Math.max(1, node.minimum ?? 1)]
    case 'array':
      return [valuesOf(node.items ?? {}).slice(0, 1)]
    case 'object':
      return [
        Object.fromEntries(
          (node.required ?? []).map((key) => [key, valuesOf(node.properties![key]!)[0]]),
        ),
      ]
    case 'string':
    case undefined:
    default:
      return [node.default ?? 'x']
  }
}

function formatOf({ format, anyOf = [] }: Node): string | undefined {
  const formats = [format, ...anyOf.map((each) => each.format)]
  return [DURATION_FORMAT, SIZE_FORMAT].find((each) => formats.includes(each))
}

/**
 * Returns a value with short durations, and with small sizes and numbers. The responses of the
 * tests are longer than 20 bytes and shorter than 1 KiB, and their streams have two events.
 */
function small(node: Node, value: unknown, key = ''): unknown {
  const format = typeof value === 'boolean' ? undefined : formatOf(node)
  if (format === DURATION_FORMAT) return '1ms'
  if (format === SIZE_FORMAT) return key === 'bytes' ? '20B' : '1KiB'
  if (typeof value === 'number' && (node.minimum ?? 0) <= 1) return Math.min(value, 1)
  if (!isRecord(value) || node.properties === undefined) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      small(node.properties![name] ?? {}, each, name),
    ]),
  )
}

/** Returns a value once for each other number in each place. */
function edgesOf(node: Node, value: unknown, key: string): readonly unknown[] {
  if (formatOf(node) === SIZE_FORMAT) return key === 'bytes' ? ['0B', '1MiB'] : []
  if (node.anyOf?.some(({ format }) => format === PERCENT_FORMAT) === true) return [0, 100]
  if (typeof value === 'number') return [0, 2]
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, each]) =>
    edgesOf(node.properties?.[name] ?? {}, each, name).map((edge) => ({ ...value, [name]: edge })),
  )
}

/** Returns the parameters of the example. */
function shownIn(name: string, example: string): Config {
  const [shown] = parse(example) as readonly { readonly faults: readonly unknown[] }[]
  const [fault] = shown!.faults
  return typeof fault === 'string' ? {} : (fault as Record<string, Config>)[name]!
}

/**
 * Returns the forms with these parameters, and with those that they need. Parameters that contradict
 * each other are no form.
 */
function validOf(
  { name, schema, goesWith = {} }: Definition,
  configs: readonly Config[],
): readonly Form[] {
  const properties = (schema as Node).properties ?? {}
  const full = configs.map((config) => {
    const all: Record<string, unknown> = { ...config }
    for (const key of Object.keys(all)) {
      for (let need = goesWith[key]; need !== undefined; need = goesWith[need]) {
        if (!(need in all)) Object.assign(all, choicesOf(properties, need)[0])
      }
    }
    return all
  })
  const valid = read(name, full)
  // Some parameters are valid with one mode, or with another parameter only.
  const attempts = full.flatMap((config, index) =>
    valid[index] === undefined
      ? Object.keys(properties)
          .filter((key) => !(key in config))
          .flatMap((key) => choicesOf(properties, key))
          .map((more) => ({ index, config: { ...more, ...config } }))
      : [],
  )
  const others = read(
    name,
    attempts.map(({ config }) => config),
  )
  return valid.flatMap(
    (form, index) =>
      form ?? others.find((_, at) => attempts[at]!.index === index && others[at]) ?? [],
  )
}

/** Reads faults, all at once; undefined for one that a rules file may not have. */
function read(fault: Form['fault'], configs: readonly Config[]): readonly (Form | undefined)[] {
  const rules = configs.map((config, index) => ({
    name: `r${index}`,
    faults: [{ [fault]: config }],
  }))
  const all = schemaFindings({ rules }, checked, Infinity)
  const wrong = [...all, ...fileFindings({ rules }, all, FILE, Infinity)]
  const rejected = new Set(wrong.map(({ path }) => path[1]))
  return configs.map((config, index) => {
    if (rejected.has(index)) return undefined
    const options = { collectionStyle: 'flow', lineWidth: 0 } as const
    const text = stringify({ [fault]: config }, options)
      .trim()
      .slice(1, -1)
      .trim()
    const [use] = faultUses([{ [fault]: config }]) as RuleSpec['faults']
    return { fault, text, use: use! }
  })
}
