/**
 * Made by `scripts/lib/compile-schemas.mjs`. `require` gives the check its formats and ajv's
 * helpers.
 */
declare module '#checks/*' {
  import type { ValidateFunction } from 'ajv'
  import type { SchemaNode } from './schema-node.ts'

  export const schema: SchemaNode
  export function makeCheck(require: (name: string) => object): ValidateFunction
}

/** The names of all faults, for programs that load no fault. */
declare module '#checks/fault-names' {
  import type { FaultName } from '../../filters/index.ts'

  export const FAULT_NAMES: readonly FaultName[]
}
