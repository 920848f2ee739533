import { DURATION_FORMAT, SIZE_FORMAT } from '../../filters/lib/config-schema.ts'
import { FAULTS } from '../../filters/index.ts'
import { fieldsOf, isRecord, listOf, sameJson } from '../../base/values.ts'
import { durationText, sizeText } from '../../base/units.ts'
import { shortened } from '../../base/text/foreign-text.ts'
import { fieldOf, fillDefaults } from './read-values.ts'
import { branchFor, type SchemaNode } from './schema-node.ts'

/** The length of the longest text: the beginning of a rule says what it is about. */
const MAX_TEXT = 400
/** A string that YAML reads as the same string without quotes. */
const PLAIN = /^[A-Za-z_/$][\w*?./$%+@-]*$|^\d[\w.%]*[A-Za-z%]$/
const OTHER_VALUE = /^(?:true|false|null|yes|no|on|off|y|n|\d+e\d+)$/i

/**
 * Returns the rules of a valid document as written, without their names, each as YAML on one line.
 */
export function ruleTexts(document: unknown): readonly string[] {
  return listOf(fieldsOf(document)['rules']).map((rule) => {
    const { name: _, ...rest } = rule
    return shortened(pairs(rest), MAX_TEXT)
  })
}

const UNITS: Readonly<Record<string, (value: number) => string>> = {
  [DURATION_FORMAT]: durationText,
  [SIZE_FORMAT]: sizeText,
}

/** Returns a fault as a rule writes it, without the parameters that have their default. */
export function faultText(fault: string, config: unknown): string {
  const { schema = {} } = FAULTS.find(({ name }) => name === fault) ?? {}
  return pairs({ [fault]: asWritten(schema, config) })
}

function asWritten(union: SchemaNode, value: unknown): unknown {
  const node = (union.anyOf && branchFor(union.anyOf, value, undefined)) ?? union
  if (typeof value === 'number') {
    const formats = [node, ...(union.anyOf ?? [])].flatMap(({ format = '' }) => UNITS[format] ?? [])
    return formats[0]?.(value) ?? value
  }
  if (Array.isArray(value)) return value.map((each) => asWritten(node.items ?? {}, each))
  if (!isRecord(value)) return value
  const defaults = fillDefaults(node)
  const written = Object.entries(value).filter(
    ([key, each]) => !sameJson(each, fieldOf(defaults, key)),
  )
  return Object.fromEntries(
    written.map(([key, each]) => [key, asWritten(node.properties?.[key] ?? {}, each)]),
  )
}

function flow(value: unknown): string {
  if (typeof value === 'string') {
    return PLAIN.test(value) && !OTHER_VALUE.test(value) ? value : JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(item).join(', ')}]`
  if (!isRecord(value)) return String(value)
  return Object.keys(value).length === 0 ? '{}' : `{ ${pairs(value)} }`
}

/** An object with one key needs no braces within a list. */
function item(value: unknown): string {
  return isRecord(value) && Object.keys(value).length === 1 ? pairs(value) : flow(value)
}

function pairs(value: object): string {
  return Object.entries(value)
    .map(([key, each]) => `${flow(key)}: ${flow(each)}`)
    .join(', ')
}
