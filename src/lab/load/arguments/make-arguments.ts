import { isRecord } from '../../../base/values.ts'
import { LoadError } from '../load-error.ts'
import type { ToolInfo } from '../clients/load-client.ts'
import { makeValue } from './make-value.ts'
import { schemaCheck } from './schema-check.ts'
import type { RandomSource } from '../../../base/seeded-random.ts'

const TRIES = 50

/** Generates arguments; equal random numbers give equal arguments. */
export type MakeArguments = (random: RandomSource) => Readonly<Record<string, unknown>>

/** Returns a generator of arguments for a tool. Throws a `LoadError` when no arguments fit. */
export function argumentsFor(tool: Pick<ToolInfo, 'name' | 'inputSchema'>): MakeArguments {
  const schema = isRecord(tool.inputSchema) ? tool.inputSchema : { type: 'object' }
  const fits = schemaCheck(schema) ?? ((): boolean => true)
  return (random) => {
    for (let i = 0; i < TRIES; i++) {
      const made = makeValue({ type: 'object', ...schema }, schema, random)
      if (isRecord(made) && fits(made)) return made
    }
    throw new LoadError(
      'CANNOT_MAKE_ARGUMENTS',
      `no arguments that fit the schema of ${tool.name} could be made`,
      'give some with --calls',
    )
  }
}
