import { FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'
import { MERGE_FLAGS, type MergeFlag } from './load-flags.ts'

/** What `squall report merge` was told. */
export interface MergeRequest {
  readonly files: readonly string[]
  readonly out: string | undefined
}

/** Checks what the command line says. Throws nothing but a `UsageError`. */
export function parseMerge(raw: RawFlags, files: readonly string[]): MergeRequest {
  if (files.length === 0) {
    throw new UsageError(
      'MISSING_VALUE',
      'there is nothing to merge',
      'name files of squall load --out',
    )
  }
  // `SQUALL_OUT` is meant for the load itself.
  const flags = new FlagValues<MergeFlag>(MERGE_FLAGS, raw, {})
  return { files, out: flags.optional('out')?.text }
}
