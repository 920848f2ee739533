import { asInvoked } from '../../base/program.ts'
import { stat } from 'node:fs/promises'
import { plain } from '../../base/text/foreign-text.ts'
import {
  type FileProblems,
  githubLines,
  type ProblemFormat,
  problemFrames,
  problemLines,
  problemsJson,
  type Warning,
  warningLine,
} from '../../rules/file/problem.ts'
import { isAboutPods } from '../../rules/match/pod-match.ts'
import type { RulesVersion } from '../../rules/file/rules-file.ts'
import type { Skipped } from './rules-directory.ts'
import {
  type CheckedFile,
  readEachBelow,
  readRulesSource,
  type RulesSource,
  warningsOf,
} from './rules-source.ts'

const FAILED = 1
const MAX_NAMES = 10

/** The output, and the scope of the checks. */
export interface ValidateOptions {
  readonly format: ProblemFormat
  /** Checks the files of a directory as one set, as a sidecar reads them. */
  readonly together?: boolean
}

/** Checks rules files and directories, `-` being standard input; returns the exit code. */
export async function validateCommand(
  paths: readonly string[],
  { format, together = false }: ValidateOptions,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const checked: FileProblems[] = []
  const skipped: Skipped[] = []
  const warnings: Warning[] = []
  for (const path of paths) {
    const isDirectory = !together && (await isDirectoryAt(path))
    const each = isDirectory
      ? await readEachBelow(path)
      : { sources: [await readRulesSource(path)], skipped: [] }
    skipped.push(...each.skipped)
    for (const source of each.sources) {
      checked.push(...source.files)
      const { idle, small } = warningsOf(source)
      warnings.push(...idle, ...small)
      writeSource(source, [...idle, ...small], format, write)
    }
    if (format !== 'text') continue
    for (const { file, reason } of each.skipped)
      write(`${plain(file)}: skipped, ${plain(asInvoked(reason))}\n`)
    if (isDirectory && each.sources.every(isValid)) write(await setNote(path))
  }
  if (format === 'json') write(problemsJson(checked, skipped, warnings))
  return checked.every(({ problems }) => problems.length === 0) ? 0 : FAILED
}

function writeSource(
  { files, version }: RulesSource,
  warnings: readonly Warning[],
  format: ProblemFormat,
  write: (text: string) => void,
): void {
  // A file without rules is valid, but it may be an error of the user.
  const note =
    version.kind === 'absent' ? `, without rules: ${version.reason}` : rulesNotes(version)
  for (const file of files) {
    if (format === 'github') write(githubLines(file))
    else if (format === 'text') write(textOf(file, note))
  }
  for (const each of format === 'json' ? [] : warnings) write(warningLine(each, format))
}

/** Returns a note on valid files of a directory that a sidecar would reject as one set. */
async function setNote(path: string): Promise<string> {
  if (isValid(await readRulesSource(path))) return ''
  const why = asInvoked('squall run --rules; --together shows why')
  return `${plain(path)}: each file is valid, but together the files are not a valid set for ${why}\n`
}

function isValid({ version }: RulesSource): boolean {
  return version.kind !== 'rejected'
}

async function isDirectoryAt(path: string): Promise<boolean> {
  if (path === '-') return false
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** Names the rules that act in certain pods only, and those that are disabled. */
function rulesNotes(version: RulesVersion): string {
  if (version.kind !== 'rules') return ''
  const { rules } = version.file
  const ofPods = rules.filter(({ match }) => match !== undefined && isAboutPods(match))
  const disabled = rules.filter(({ enabled }) => !enabled)
  const from = version.imported === undefined ? '' : importedNote(version.imported.length)
  return `${from}${named('act in matching pods only', ofPods)}${named('are disabled', disabled)}`
}

function importedNote(fields: number): string {
  const differ = `${fields} ${fields === 1 ? 'field differs' : 'fields differ'}`
  return asInvoked(`, rules of another tool; ${differ}: squall import shows them`)
}

function named(what: string, rules: readonly { readonly name: string }[]): string {
  if (rules.length === 0) return ''
  const list = rules.slice(0, MAX_NAMES).map(({ name }) => name)
  const more = rules.length > MAX_NAMES ? ` and ${rules.length - MAX_NAMES} more` : ''
  return `; these rules ${what}: ${list.join(', ')}${more}`
}

function textOf(result: CheckedFile, note: string): string {
  const { file, problems, text } = result
  if (problems.length === 0) return `${plain(file)}: ok${note}\n`
  return text === undefined ? problemLines(result) : problemFrames(result, text)
}
