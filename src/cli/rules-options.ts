import type { Transport } from '../mcp/call.ts'
import { isRevisionDate } from '../mcp/revision.ts'
import type { ProblemFormat } from '../rules/problem-format.ts'
import { FlagValues, type Given, type RawFlags } from './flag-values.ts'
import {
  EXPLAIN_FLAGS,
  VALIDATE_FLAGS,
  type ExplainFlag,
  type ValidateFlag,
} from './rules-flags.ts'
import { shown, UsageError } from './usage-error.ts'

/** Everything `squall validate` was told. */
export interface ValidateRequest {
  readonly files: readonly string[]
  readonly format: ProblemFormat
}

/** Everything `squall explain` was told. */
export interface ExplainRequest {
  readonly file: string
  readonly json: boolean
  readonly method: string
  readonly name: string | undefined
  readonly headers: readonly string[]
  readonly args: Readonly<Record<string, unknown>> | undefined
  readonly session: string | undefined
  readonly client: { readonly name: string; readonly version: string } | undefined
  readonly transport: Transport
  readonly era: string | undefined
}

const NAMED_BY = [
  ['tool', 'tools/call'],
  ['prompt', 'prompts/get'],
  ['resource', 'resources/read'],
] as const

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
      `--format: ${shown(format)} is not known`,
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

/** Checks what `squall explain` was given. Throws nothing but a `UsageError`. */
export function parseExplain(raw: RawFlags, files: readonly string[]): ExplainRequest {
  const flags = new FlagValues<ExplainFlag>(EXPLAIN_FLAGS, raw, {})
  const [file] = files
  if (file === undefined) throw missingFile('explain')
  const named = NAMED_BY.filter(([flag]) => flags.optional(flag) !== undefined)
  if (named.length > 1) {
    throw new UsageError(
      'BAD_COMBINATION',
      `a call has one of ${named.map(([flag]) => `--${flag}`).join(', ')}`,
      'leave the others out',
    )
  }
  const by = named[0]
  return {
    file,
    json: flags.switch('json'),
    method: flags.optional('method')?.text ?? by?.[1] ?? 'tools/call',
    name: by === undefined ? undefined : flags.optional(by[0])?.text,
    headers: flags.all('header').flatMap(headerOf),
    args: argsOf(flags.optional('args')),
    session: flags.optional('session')?.text,
    client: clientOf(flags.optional('client')),
    transport: transportOf(flags.required('transport')),
    era: eraOf(flags.optional('era')),
  }
}

function missingFile(command: string): UsageError {
  return new UsageError('MISSING_VALUE', 'no rules file', `see squall ${command} --help`)
}

function headerOf({ text }: Given): string[] {
  const at = text.indexOf('=')
  if (at < 1 || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text.slice(0, at))) {
    // What stands there may be a secret, so it is not repeated.
    throw new UsageError('BAD_VALUE', '--header: this is no header', 'write name=value')
  }
  return [text.slice(0, at), text.slice(at + 1)]
}

function argsOf(given: Given | undefined): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(given.text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('BAD_VALUE', '--args: this is no JSON object', `write '{"city":"Bern"}'`)
  }
  return value as Record<string, unknown>
}

function clientOf(given: Given | undefined): ExplainRequest['client'] {
  if (given === undefined) return undefined
  // Names may have a slash in them, versions have none.
  const at = given.text.lastIndexOf('/')
  if (at < 0) return { name: given.text, version: '' }
  return { name: given.text.slice(0, at), version: given.text.slice(at + 1) }
}

function transportOf({ text }: Given): Transport {
  if (text === 'streamable-http' || text === 'http+sse') return text
  throw new UsageError(
    'BAD_VALUE',
    `--transport: ${shown(text)} is not known`,
    'use one of streamable-http, http+sse',
  )
}

function eraOf(given: Given | undefined): string | undefined {
  if (given === undefined || isRevisionDate(given.text)) return given?.text
  throw new UsageError(
    'BAD_VALUE',
    `--era: ${shown(given.text)} is no protocol revision`,
    'write its date, as 2025-11-25',
  )
}
