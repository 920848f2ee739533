import { plain } from '../../base/text/foreign-text.ts'
import {
  type FileProblems,
  githubLines,
  type ProblemFormat,
  problemLines,
  problemsJson,
} from '../../rules/file/problem-format.ts'
import { isAboutPods } from '../../rules/match/pod-match.ts'
import type { RulesVersion } from '../../rules/file/rules-version.ts'
import { readRulesSource } from './rules-source.ts'

const FAILED = 1
const MAX_NAMES = 10

/** Checks rules files and directories, `-` being standard input; returns the exit code. */
export async function validateCommand(
  paths: readonly string[],
  format: ProblemFormat,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const checked: FileProblems[] = []
  for (const path of paths) {
    const { files, version } = await readRulesSource(path)
    checked.push(...files)
    // A file without rules is valid, but it may be an error of the user.
    const note =
      version.kind === 'absent' ? `, without rules: ${version.reason}` : rulesNotes(version)
    for (const file of files) {
      if (format === 'github') write(githubLines(file))
      else if (format === 'text') write(textOf(file, note))
    }
  }
  if (format === 'json') write(problemsJson(checked))
  return checked.every(({ problems }) => problems.length === 0) ? 0 : FAILED
}

/** Names the rules that act in certain pods only, and those that are disabled. */
function rulesNotes(version: RulesVersion): string {
  if (version.kind !== 'rules') return ''
  const { rules } = version.file
  const ofPods = rules.filter(({ match }) => match !== undefined && isAboutPods(match))
  const disabled = rules.filter(({ enabled }) => !enabled)
  return `${named('act in matching pods only', ofPods)}${named('are disabled', disabled)}`
}

function named(what: string, rules: readonly { readonly name: string }[]): string {
  if (rules.length === 0) return ''
  const list = rules.slice(0, MAX_NAMES).map(({ name }) => name)
  const more = rules.length > MAX_NAMES ? ` and ${rules.length - MAX_NAMES} more` : ''
  return `; these rules ${what}: ${list.join(', ')}${more}`
}

function textOf(result: FileProblems, note: string): string {
  return result.problems.length === 0 ? `${plain(result.file)}: ok${note}\n` : problemLines(result)
}
