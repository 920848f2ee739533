import { stat } from 'node:fs/promises'
import { idleFaults } from '../../rules/explain/idle-faults.ts'
import { compileRules } from '../../rules/match/compile.ts'
import { MAX_FILE_BYTES } from '../../rules/file/parse.ts'
import {
  fileProblem,
  type FileProblems,
  smallPercents,
  wholeFile,
} from '../../rules/file/problem.ts'
import {
  canAct,
  type FoundRules,
  foundTexts,
  readRules,
  type RulesVersion,
} from '../../rules/file/rules-file.ts'
import { parseFound } from '../../rules/file/rules-parser.ts'
import { readRulesDirectory, type Skipped } from './rules-directory.ts'
import { systemReason } from '../../base/system-reason.ts'
import { readBytes } from '../files.ts'
import { readBounded } from '../../base/files.ts'

/** A file with its problems, and its text where it could be read. */
export interface CheckedFile extends FileProblems {
  readonly text?: string
}

/** The rules at a path, read as a sidecar reads them. */
export interface RulesSource {
  readonly version: RulesVersion
  /** Each file with its problems, if any. */
  readonly files: readonly CheckedFile[]
}

/** Reads and checks a rules file or a directory of them, `-` being standard input. Never throws. */
export async function readRulesSource(path: string): Promise<RulesSource> {
  let found: FoundRules
  try {
    found = await find(path)
  } catch (error) {
    return rejected(path, systemReason(error))
  }
  if (found.kind === 'absent') return rejected(path, found.reason)
  return sourceOf(found, path)
}

/** Checks the text of a rules file. Never throws. */
export function checkRulesText(text: string, file: string): RulesSource {
  return sourceOf(foundTexts([{ file, bytes: Buffer.from(text) }], false), file)
}

/** Returns the faults of valid rules that can never act, and percentages that are too small. */
export function warningsOf({ version, files }: RulesSource) {
  return {
    idle: version.kind === 'rules' ? idleFaults(version.file) : [],
    small: files.flatMap(({ file, text = '' }) => smallPercents(file, text)),
  }
}

function sourceOf(
  found: Extract<FoundRules, { readonly kind: 'found' }>,
  path: string,
): RulesSource {
  const version = checked(found, path)
  const wrong = version.kind === 'rejected' ? version.problems : []
  const names = [...found.texts, ...found.problems].map(({ file }) => file).sort()
  const files = (names.length === 0 ? [path] : names).map((file): CheckedFile => {
    const problems = wrong.find((each) => each.file === file)?.problems ?? []
    const bytes = textOf(found, file)
    return { file, problems, ...(bytes && { text: Buffer.from(bytes).toString('utf8') }) }
  })
  return { version, files }
}

function textOf({ texts }: Extract<FoundRules, { readonly kind: 'found' }>, name: string) {
  return texts.find(({ file }) => file === name)?.bytes
}

/**
 * Finds the files. Unlike a sidecar, reads a pipe to its end: shells pass pipes in place of files.
 */
async function find(path: string): Promise<FoundRules> {
  const stats = path === '-' ? undefined : await stat(path).catch(() => undefined)
  if (path !== '-' && stats?.isFIFO() !== true) return readRules(path)
  return foundTexts([{ file: path, bytes: await readBounded(path, MAX_FILE_BYTES) }], false)
}

/** Reads and checks the rules files below a directory, each by itself. Never throws. */
export async function readEachBelow(
  path: string,
): Promise<{ readonly sources: readonly RulesSource[]; readonly skipped: readonly Skipped[] }> {
  const { texts, skipped, problems } = await readRulesDirectory(path)
  const sources = texts.map((text) => sourceOf(foundTexts([text], false), text.file))
  const failed = problems.map((each) => rejectedFiles([each]))
  const all = [...sources, ...failed]
  if (all.length > 0) return { sources: all.sort(byName), skipped }
  const version = { kind: 'absent', digest: '', reason: 'the directory has no rules file' } as const
  return { sources: [{ version, files: [{ file: path, problems: [] }] }], skipped }
}

function byName({ files: [a] }: RulesSource, { files: [b] }: RulesSource): number {
  return a!.file < b!.file ? -1 : 1
}

function checked(found: FoundRules, path: string): RulesVersion {
  const version = parseFound(found)
  try {
    if (version.kind === 'rules') compileRules(version.file)
    return version
  } catch (error) {
    return rejected(path, systemReason(error)).version
  }
}

function rejected(file: string, reason: string): RulesSource {
  return rejectedFiles([fileProblem(file, 'unreadable', `cannot be read: ${reason}`)])
}

function rejectedFiles(files: readonly FileProblems[]): RulesSource {
  return { version: { kind: 'rejected', digest: '', problems: files }, files }
}

/**
 * Reads a rules file once, `-` being standard input, and checks it as `squall validate` does.
 * `canAct` is true when any of its rules could ever act.
 */
export async function readCheckedRules(file: string) {
  const bytes = await readBytes(file, MAX_FILE_BYTES)
  const version = checked(foundTexts([{ file, bytes }], false), file)
  const problems = version.kind === 'rejected' ? version.problems : foreignProblems(version, file)
  const text = Buffer.from(bytes).toString('utf8')
  return { text, problems, canAct: problems.length === 0 && canAct(version) }
}

/** Rejects a file of another tool: times and labels are written into rules before they are sent. */
function foreignProblems(version: RulesVersion, file: string): readonly FileProblems[] {
  if (version.kind !== 'rules' || version.imported === undefined) return []
  const hint = 'convert it with squall import'
  return [{ file, problems: [{ ...wholeFile('wrong_type', 'is a file of another tool'), hint }] }]
}
