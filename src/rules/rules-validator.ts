import { createHash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import { validators } from './made-validators.ts'
import type { SchemaNode } from './schema-node.ts'

/** Tells one schema from another: a validator that was made of another one is never found. */
export function schemaKey(whole: SchemaNode): string {
  return createHash('sha256').update(JSON.stringify(whole)).digest('base64url')
}

/** The validator that the build made of a schema; undefined when it made none. */
export function madeValidator(whole: SchemaNode): ValidateFunction | undefined {
  return validators?.get(schemaKey(whole))
}
