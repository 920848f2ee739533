import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isRecord } from '../../../base/values.ts'
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'
import { MAX_REGEX_TEXT, SafeRegex } from '../../../base/regex/safe-regex.ts'

/** True when a value fits the schema. */
export type SchemaCheck = (value: unknown) => boolean

const MAX_SCHEMA = 512 * 1024

/**
 * Expressions of schemas come from servers, and must not choose how long a check takes. One that is
 * not understood, and a text that is too long, count as matching: a check must not invent failures.
 */
export const compileSafeRegex: RegExpEngine = Object.assign(
  (pattern: string): RegExpLike => {
    // By its text the validator tells expressions apart: without it all would be the first one.
    const regex = { test: testOf(pattern), toString: () => `/${pattern}/` }
    return regex
  },
  // Only asked for when checks are written out as source, which these are not.
  { code: 'new RegExp' },
)

/** A check from a schema that a server sent; undefined when it is no schema that can be used. */
export function schemaCheck(schema: unknown): SchemaCheck | undefined {
  if (!isRecord(schema) || JSON.stringify(schema).length > MAX_SCHEMA) return undefined
  try {
    const validate: ValidateFunction = ajvFor(schema).compile(schema)
    return (value) => validate(value)
  } catch {
    return undefined
  }
}

const OPTIONS = {
  strict: false,
  logger: false,
  validateFormats: false,
  // Schemas of different tools may have the same `$id`.
  addUsedSchema: false,
  code: { regExp: compileSafeRegex },
} as const

let oldDialect: Ajv | undefined
let newDialect: Ajv | undefined

/** One for all schemas of a dialect: making it costs more than a schema does. */
function ajvFor(schema: Readonly<Record<string, unknown>>): Ajv {
  const dialect = schema['$schema']
  const old = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect)
  return old ? (oldDialect ??= new Ajv(OPTIONS)) : (newDialect ??= new Ajv2020(OPTIONS))
}

function testOf(pattern: string): (text: string) => boolean {
  try {
    const regex = new SafeRegex(pattern)
    return (text) => text.length > MAX_REGEX_TEXT || regex.test(text)
  } catch {
    return () => true
  }
}
