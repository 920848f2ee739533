import { plain, quoted } from '../../base/text/foreign-text.ts'

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

export interface FileProblems {
  readonly file: string
  readonly problems: readonly Problem[]
}

/** Returns the one problem of a file as a whole. */
export function fileProblem(file: string, code: ProblemCode, message: string): FileProblems {
  return { file, problems: [wholeFile(code, message)] }
}

/** The output formats of `squall validate`. */
export type ProblemFormat = 'text' | 'json' | 'github'

/** All faults fit in. */
const MAX_ALLOWED = 20

/** Formats problems like compilers, one per line: `file:line:column: message`. */
export function problemLines({ file, problems }: FileProblems): string {
  return problems
    .map((each) => `${plain(file)}:${each.line}:${each.column}: ${sentence(each)}\n`)
    .join('')
}

/** The most characters of a line that are shown around a problem. */
const MAX_SHOWN = 76

/**
 * Formats problems as `problemLines` does, each with its line of the text and a caret under the
 * place.
 */
export function problemFrames({ file, problems }: FileProblems, text: string): string {
  const lines = text.split(/\r\n|\r|\n/)
  return problems
    .map((problem) => {
      const line = lines[problem.line - 1]
      const frame = line === undefined ? '' : frameOf(line, problem)
      return `${problemLines({ file, problems: [problem] })}${frame}`
    })
    .join('')
}

function frameOf(line: string, { line: number, column }: Problem): string {
  const at = Math.min(column - 1, line.length)
  const from = Math.max(0, Math.min(at - MAX_SHOWN / 2, line.length - MAX_SHOWN))
  const shown = (start: number, end: number): string =>
    plain(line.slice(start, end).replaceAll('\t', ' '))
  const before = shown(from, at)
  const margin = ' '.repeat(String(number).length)
  const code = `${before}${shown(at, from + MAX_SHOWN)}`.trimEnd()
  if (code === '') return ''
  return `  ${number} | ${code}\n  ${margin} | ${' '.repeat(before.length)}^\n`
}

/** Formats problems as annotations for GitHub: workflow commands, one per line. */
export function githubLines({ file, problems }: FileProblems): string {
  return problems
    .map(({ line, column, ...rest }) => {
      const place = `file=${property(file)},line=${line},col=${column}`
      return `::error ${place},title=${property(`Squall rules: ${rest.code}`)}::${data(sentence(rest))}\n`
    })
    .join('')
}

/** Names a possible error in a valid file. */
export interface Warning {
  /** With `fault`: a rule and its fault that can never act. */
  readonly rule?: string
  readonly fault?: string
  readonly message: string
}

const SMALL_PERCENT = /^[^#]*?\bpercent["']?:\s*(0?\.\d*[1-9]\d*)(?=\s*(?:[,}#]|$))/

/** Warns of a `percent` below 1 without a sign, which may be meant as a part of 1. */
export function smallPercents(file: string, text: string): readonly Warning[] {
  return text.split('\n').flatMap((line, at) => {
    const [, share] = SMALL_PERCENT.exec(line) ?? []
    if (share === undefined) return []
    const meant = Number((Number(share) * 100).toPrecision(6))
    const message = `${file}:${at + 1}: \`percent: ${share}\` is ${share} % of the calls; write \`percent: ${meant}\` for ${meant} %, or \`${share}%\` to keep it`
    return [{ message }]
  })
}

export function warningLine({ rule, fault, message }: Warning, format: ProblemFormat): string {
  const idle = `the rule ${rule} matches nothing that ${fault} can affect: `
  const text = plain(`${rule === undefined ? '' : idle}${message}`)
  return format === 'github'
    ? `::warning title=Squall rules::${data(text)}\n`
    : `warning: ${text}\n`
}

/** Formats all files with their problems, and skipped files, as one JSON document. */
export function problemsJson(
  files: readonly FileProblems[],
  skipped: readonly { readonly file: string; readonly reason: string }[] = [],
  warnings: readonly Warning[] = [],
): string {
  const report = {
    ok: files.every(({ problems }) => problems.length === 0),
    files: files.map(({ file, problems }) => ({ file, ok: problems.length === 0, problems })),
    ...(skipped.length > 0 && { skipped }),
    ...(warnings.length > 0 && { warnings }),
  }
  return `${JSON.stringify(report, null, 2)}\n`
}

/** Formats a problem in one line, without its position. */
export function sentence(problem: Omit<Problem, 'line' | 'column'>): string {
  const { path, message, allowed, hint } = problem
  const where = path === '' ? '' : `${path}: `
  const among =
    hint === undefined && allowed !== undefined && allowed.length > 0 && !saysAllowed(problem)
      ? `; allowed: ${allowed.slice(0, MAX_ALLOWED).join(', ')}${allowed.length > MAX_ALLOWED ? ', …' : ''}`
      : ''
  return plain(`${where}${message}${hint === undefined ? among : `; ${hint}`}`)
}

/** Returns true when the message already names the allowed values. */
function saysAllowed({ message }: { readonly message: string }): boolean {
  return /^(?:must be|needs) (?!exactly)/.test(message)
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
