import { githubLines, problemLines, problemsJson } from '../rules/problem-format.ts'
import type { FileProblems, ProblemFormat } from '../rules/problem-format.ts'
import { readRulesFile } from './rules-file.ts'

/** How to check, and where to write. */
export interface ValidateOptions {
  readonly format: ProblemFormat
  /** Takes what goes to standard output. */
  readonly write?: (text: string) => void
}

const FAILED = 1

/** Checks rules files, `-` being standard input; the result is the exit code. */
export async function validateCommand(
  files: readonly string[],
  { format, write = (text) => void process.stdout.write(text) }: ValidateOptions,
): Promise<number> {
  const checked: FileProblems[] = []
  for (const file of files) {
    const result = await check(file)
    checked.push(result)
    if (format === 'github') write(githubLines(result))
    else if (format === 'text') write(textOf(result))
  }
  if (format === 'json') write(problemsJson(checked))
  return checked.every(({ problems }) => problems.length === 0) ? 0 : FAILED
}

function textOf(result: FileProblems): string {
  return result.problems.length === 0 ? `${result.file}: ok\n` : problemLines(result)
}

async function check(file: string): Promise<FileProblems> {
  const parsed = await readRulesFile(file)
  return { file, problems: parsed.ok ? [] : parsed.problems }
}
