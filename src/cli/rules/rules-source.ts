import { stat } from 'node:fs/promises'
import { compileRules } from '../../rules/match/compile.ts'
import { MAX_FILE_BYTES } from '../../rules/file/parse.ts'
import type { FileProblems } from '../../rules/file/problem-format.ts'
import { readRules, type FoundRules } from '../../rules/file/rules-file.ts'
import { parseFound } from '../../rules/file/rules-parser.ts'
import type { RulesVersion } from '../../rules/file/rules-version.ts'
import { readBounded } from '../../base/read-bounded.ts'

/** The rules at a path, read as a running sidecar reads them. */
export interface RulesSource {
  readonly version: RulesVersion
  /** Each file with its problems, if any. */
  readonly files: readonly FileProblems[]
}

/** Reads and checks a rules file or a directory of them, `-` being standard input. Never throws. */
export async function readRulesSource(path: string): Promise<RulesSource> {
  let found: FoundRules
  try {
    found = await find(path)
  } catch (error) {
    return refused(path, reasonOf(error))
  }
  if (found.kind === 'absent') return refused(path, found.reason)
  const version = parseFound(found)
  if (version.kind === 'rules') {
    try {
      compileRules(version.file)
    } catch (error) {
      return refused(path, reasonOf(error))
    }
  }
  const wrong = version.kind === 'rejected' ? version.problems : []
  const names = [...found.texts, ...found.problems].map(({ file }) => file).sort()
  const files = (names.length === 0 ? [path] : names).map((file) => ({
    file,
    problems: wrong.find((each) => each.file === file)?.problems ?? [],
  }))
  return { version, files }
}

/** Reads a pipe to its end, unlike a sidecar: shells pass pipes in place of files. */
async function find(path: string): Promise<FoundRules> {
  const stats = path === '-' ? undefined : await stat(path).catch(() => undefined)
  const streams = path === '-' || stats?.isFIFO() === true || stats?.isCharacterDevice() === true
  if (!streams) return readRules(path)
  const bytes = await readBounded(path, MAX_FILE_BYTES)
  const texts = [{ file: path, bytes }]
  return { kind: 'found', digest: '', isDirectory: false, texts, problems: [], writtenAt: 0 }
}

function refused(file: string, reason: string): RulesSource {
  const message = `cannot be read: ${reason}`
  const problem = { code: 'unreadable', message, path: '', line: 1, column: 1 } as const
  const files = [{ file, problems: [problem] }]
  return { version: { kind: 'rejected', digest: '', problems: files }, files }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
