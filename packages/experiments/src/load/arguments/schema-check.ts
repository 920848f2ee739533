import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isRecord, MAX_REGEX_TEXT, SafeRegex } from '#base'
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'

/** Returns true when a value conforms to the schema. */
export type SchemaCheck = (value: unknown) => boolean

const MAX_SCHEMA = 512 * 1024

/**
 * Compiles expressions of untrusted schemas to run in linear time. Unsupported expressions and
 * texts that are too long count as matching, so that a check never invents failures.
 */
export const compileSafeRegex: RegExpEngine = Object.assign(
  (pattern: string): RegExpLike => {
    // The validator caches expressions by this text.
    const regex = { test: testOf(pattern), toString: () => `/${pattern}/` }
    return regex
  },
  // Used only for standalone code, which is not generated here.
  { code: 'new RegExp' },
)

/** Compiles the schema of a server; undefined when the schema is unusable. */
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

/** Returns the shared validator of a dialect, because creating one is expensive. */
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
