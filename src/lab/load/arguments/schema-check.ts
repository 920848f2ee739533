import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isRecord } from '../../../base/values.ts'
import { compileSafeRegex } from './schema-regex.ts'

/** True when a value fits the schema. */
export type SchemaCheck = (value: unknown) => boolean

const MAX_SCHEMA = 512 * 1024

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
