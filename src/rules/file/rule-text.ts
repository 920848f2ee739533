import { shortened } from '../../base/text/foreign-text.ts'
import { fieldsOf, isRecord, listOf } from '../../base/values.ts'

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

function flow(value: unknown): string {
  if (typeof value === 'string') {
    return PLAIN.test(value) && !OTHER_VALUE.test(value) ? value : JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(item).join(', ')}]`
  return isRecord(value) ? `{ ${pairs(value)} }` : String(value)
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
