import { quoted } from '../../base/text/foreign-text.ts'

/** The kind of a problem. The codes are stable. */
export type ProblemCode =
  | 'not_utf8'
  | 'too_large'
  | 'too_deep'
  | 'too_many'
  | 'syntax'
  | 'duplicate_key'
  | 'several_documents'
  | 'unknown_key'
  | 'unknown_fault'
  | 'missing_key'
  | 'wrong_type'
  | 'invalid_value'
  | 'out_of_range'
  | 'conflict'
  | 'duplicate_name'
  | 'unreadable'

/** The path to a value in the file: keys and list indexes. */
export type Path = readonly (string | number)[]

/** One error in a rules file. Lines and columns count from 1. */
export interface Problem {
  readonly code: ProblemCode
  readonly message: string
  /** As a person writes it: `rules[0].faults[1].delay`; empty for the file as a whole. */
  readonly path: string
  readonly line: number
  readonly column: number
  readonly found?: string
  readonly allowed?: readonly string[]
  readonly hint?: string
}

/** Returns the problem of a file as a whole. */
export function wholeFile(code: ProblemCode, message: string): Problem {
  return { code, message, path: '', line: 1, column: 1 }
}

/** An error with a path instead of a position. */
export interface Finding {
  readonly code: ProblemCode
  readonly message: string
  readonly path: Path
  /** True when the problem is the last key of the path, not the value under it. */
  readonly atKey?: boolean
  readonly found?: string
  readonly allowed?: readonly string[]
  readonly hint?: string
}

/** Returns the finding for a key that contradicts others. */
export function conflict(path: Path, message: string, more: Partial<Finding> = {}): Finding {
  return { code: 'conflict', message, path, atKey: true, ...more }
}

/** Formats a path for people. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) text += `[${quoted(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

/** Formats a value for messages. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return quoted(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'an object'
}
