import { basename } from 'node:path'
import { FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'
import { REPORT_FLAGS, type ReportFlag } from './report-flags.ts'

/** What `squall report html` and `squall report markdown` were told. */
export interface ReportRequest {
  readonly runs: readonly { readonly file: string; readonly title: string }[]
  readonly out: string | undefined
  readonly title: string | undefined
}

const MOST_RUNS = 20

/** Checks what the command line says. Throws nothing but a `UsageError`. */
export function parseReport(raw: RawFlags, files: readonly string[]): ReportRequest {
  if (files.length === 0) {
    throw new UsageError(
      'MISSING_VALUE',
      'there is nothing to report',
      'name files of squall load --out',
    )
  }
  if (files.length > MOST_RUNS) {
    throw new UsageError(
      'BAD_VALUE',
      `${files.length} runs do not fit beside each other`,
      `name up to ${MOST_RUNS}, or merge shards with squall report merge`,
    )
  }
  // `SQUALL_OUT` is meant for the load itself.
  const flags = new FlagValues<ReportFlag>(REPORT_FLAGS, raw, {})
  const names = flags.all('name').map(({ text }) => text)
  if (names.length > files.length) {
    throw new UsageError(
      'BAD_COMBINATION',
      `there are ${names.length} names for ${files.length} files`,
      'give one --name for each file, in the same order',
    )
  }
  return {
    runs: files.map((file, i) => ({ file, title: names[i] ?? basename(file, '.json') })),
    out: flags.optional('out')?.text,
    title: flags.optional('title')?.text,
  }
}
