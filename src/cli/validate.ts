import { open } from 'node:fs/promises'
import { MAX_FILE_BYTES, parseRules } from '../rules/parse.ts'
import { githubLines, problemLines, problemsJson } from '../rules/problem-format.ts'
import type { FileProblems, ProblemFormat } from '../rules/problem-format.ts'

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
  let bytes: Uint8Array
  try {
    bytes = file === '-' ? await readAll(process.stdin) : await readFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const problem = { code: 'unreadable', path: '', line: 1, column: 1 } as const
    return { file, problems: [{ ...problem, message: `cannot be read: ${reason}` }] }
  }
  const parsed = parseRules(bytes)
  return { file, problems: parsed.ok ? [] : parsed.problems }
}

/** Reads no more than shows that a file is too large, so that endless ones end. */
async function readFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, 'r')
  try {
    if ((await handle.stat()).isDirectory()) throw new Error('it is a directory')
    return await readAll(handle.createReadStream({ autoClose: false }))
  } finally {
    await handle.close()
  }
}

async function readAll(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array)
    chunks.push(bytes)
    size += bytes.length
    if (size > MAX_FILE_BYTES) break
  }
  return Buffer.concat(chunks)
}
