import { createHash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import type { SchemaNode } from './schema-node.ts'

/** What the build writes beside this file: a validator for each node that a rules file is checked against. */
export interface MadeValidators {
  /** By the key of the schema that they were made of. */
  readonly validators: ReadonlyMap<string, ValidateFunction>
}

/** The name of the module that the build writes. */
export const MADE_MODULE = './made-validators.js'

// From source there is none, and validators are compiled when they are first used.
const made = import.meta.url.endsWith('.js')
  ? await loadMade(new URL(MADE_MODULE, import.meta.url))
  : undefined

/** The validators that a build made. Undefined when it made none. */
export async function loadMade(module: URL): Promise<MadeValidators | undefined> {
  try {
    return (await import(module.href)) as MadeValidators
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Tells one schema from another: a validator that was made of another one is never found. */
export function schemaKey(whole: SchemaNode): string {
  return createHash('sha256').update(JSON.stringify(whole)).digest('base64url')
}

/** The validator that the build made of a schema; undefined when it made none. */
export function madeValidator(whole: SchemaNode): ValidateFunction | undefined {
  return made?.validators.get(schemaKey(whole))
}
