import { quoted } from '../../base/text/foreign-text.ts'
import { FlagValues, type RawFlags } from '../flags/flag-values.ts'
import type { ProblemFormat } from '../../rules/file/problem-format.ts'
import { VALIDATE_FLAGS, type ValidateFlag } from './rules-flags.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The options of `squall validate`. */
export interface ValidateRequest {
  readonly files: readonly string[]
  readonly format: ProblemFormat
}

/** Checks what `squall validate` was given. Throws nothing but a `UsageError`. */
export function parseValidate(raw: RawFlags, files: readonly string[]): ValidateRequest {
  const flags = new FlagValues<ValidateFlag>(VALIDATE_FLAGS, raw, {})
  if (files.length === 0) throw missingFile('validate')
  const given = flags.optional('format')
  const json = flags.switch('json')
  const format = given?.text ?? (json ? 'json' : 'text')
  if (format !== 'text' && format !== 'json' && format !== 'github') {
    throw new UsageError(
      'BAD_VALUE',
      `--format: ${quoted(format)} is not known`,
      'use one of text, json, github',
    )
  }
  if (json && format !== 'json') {
    throw new UsageError(
      'BAD_COMBINATION',
      `--json and --format ${format} contradict each other`,
      'leave one of the two out',
    )
  }
  return { files, format }
}

/** The complaint that no rules file was named. */
export function missingFile(command: string): UsageError {
  return new UsageError('MISSING_VALUE', 'no rules file', `see squall ${command} --help`)
}
