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
      version.kind === 'absent' ? `, without rules: ${version.reason}` : podsNote(version)
    for (const file of files) {
      if (format === 'github') write(githubLines(file))
      else if (format === 'text') write(textOf(file, note))
    }
  }
  if (format === 'json') write(problemsJson(checked))
  return checked.every(({ problems }) => problems.length === 0) ? 0 : FAILED
}

/** Names the rules that act in certain pods only. */
function podsNote(version: RulesVersion): string {
  if (version.kind !== 'rules') return ''
  const names = version.file.rules.filter(({ match }) => match !== undefined && isAboutPods(match))
  if (names.length === 0) return ''
  const list = names.slice(0, MAX_NAMES).map(({ name }) => name)
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  return `; these rules act in matching pods only: ${list.join(', ')}${more}`
}

function textOf(result: FileProblems, note: string): string {
  return result.problems.length === 0 ? `${plain(result.file)}: ok${note}\n` : problemLines(result)
}
