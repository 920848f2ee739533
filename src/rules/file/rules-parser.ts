import { mergeFiles } from './merge-files.ts'
import { MAX_PROBLEMS, parseWithPositions, type ReadRules } from './parse.ts'
import { type FileProblems, problemFrames } from './problem-format.ts'
import { deepFreeze, isRecord } from '../../base/values.ts'
import { ruleTexts } from './rule-text.ts'
import type { FoundRules, RulesText } from './rules-file.ts'
import type { RulesVersion } from './rules-version.ts'
import type { Problem } from './problem.ts'
import { CONVERTERS, formatOf, importRead } from '../import/import.ts'
import { noteLine } from '../import/note-text.ts'

const WARM_UP = 'rules: [{ name: a, match: { tool: b }, faults: [{ delay: { fixed: 1s } }] }]'

/** Parses the found files into one version of the rules. Never throws. */
export function parseFound(found: FoundRules): RulesVersion {
  if (found.kind === 'absent') return found
  const { digest, isDirectory, texts } = found
  const written = texts.filter((text) => !isBlank(text))
  if (written.length === 0 && found.problems.length === 0) {
    return { kind: 'absent', digest, reason: whyNothing(isDirectory, texts) }
  }
  const read = written.map((text) => ({ file: text.file, ...readText(text) }))
  const problems = [...found.problems]
  for (const { file, parsed } of read) {
    if (!parsed.ok) problems.push({ file, problems: parsed.problems })
  }
  if (problems.length > 0) return rejected(digest, problems, texts)
  const merged = mergeFiles(
    read.flatMap(({ file, parsed, document }) =>
      parsed.ok && document !== undefined ? { name: file, file: parsed.file, document } : [],
    ),
  )
  if ('problems' in merged) return rejected(digest, merged.problems, texts)
  const asWritten = read.flatMap(({ document }) => ruleTexts(document?.value))
  const notes = read.flatMap((each) => each.notes ?? [])
  const isImported = read.some((each) => each.notes !== undefined)
  const imported = isImported ? notes.slice(0, MAX_PROBLEMS) : undefined
  return deepFreeze({
    kind: 'rules',
    digest,
    file: merged.file,
    asWritten,
    ...(imported && { imported }),
  })
}

/** Reads one file, also one of another tool. */
function readText({ file, bytes }: RulesText): ReadRules & { readonly notes?: readonly string[] } {
  const read = parseWithPositions(bytes)
  return read.parsed.ok ? read : (foreignRules(read, file) ?? read)
}

/** Parses a small file once: the first run of code takes longer than later ones. */
export function warmUpParser(): void {
  parseWithPositions(WARM_UP)
}

/** Returns the problems in the order of the files, limited as for one file. */
function rejected(
  digest: string,
  files: readonly FileProblems[],
  texts: readonly RulesText[],
): RulesVersion {
  const problems: FileProblems[] = []
  let left = MAX_PROBLEMS
  for (const each of files) {
    if (left === 0) break
    const some = each.problems.slice(0, left)
    left -= some.length
    problems.push({ file: each.file, problems: some })
  }
  const frames = problems.flatMap((each) => {
    const text = texts.find(({ file }) => file === each.file)?.bytes ?? new Uint8Array()
    return problemFrames(each, Buffer.from(text).toString('utf8')).trimEnd().split('\n')
  })
  return deepFreeze({ kind: 'rejected', digest, problems, frames })
}

function isBlank({ bytes }: RulesText): boolean {
  // The first lines of most files show that they are not blank.
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start)
    const line = Buffer.from(bytes.subarray(start, end < 0 ? bytes.length : end)).toString('utf8')
    // The byte order mark counts as space.
    const text = line.trim()
    const isComment = text.startsWith('#') && !text.includes('\r')
    if (text !== '' && text !== '---' && !isComment) return false
    if (end < 0) return true
    start = end + 1
  }
  return true
}

function whyNothing(isDirectory: boolean, texts: readonly RulesText[]): string {
  if (isDirectory) {
    return texts.length === 0
      ? 'the directory has no rules file'
      : 'the rules files of the directory are empty'
  }
  return texts.every(({ bytes }) => bytes.length === 0)
    ? 'the file is empty'
    : 'the file contains only comments'
}

/** Rules that another tool wrote, with a line for each field that differs. */
interface ForeignRules extends ReadRules {
  readonly notes: readonly string[]
}

/**
 * Reads a rejected rules file as one of another tool; undefined for one of no known format. An
 * unknown field is an error here, because nobody reads the result before it acts.
 */
function foreignRules({ parsed, document }: ReadRules, file: string): ForeignRules | undefined {
  if (parsed.ok || document === undefined || document.problems.length > 0) return undefined
  const { value } = document
  const format = isRecord(value) && 'rules' in value ? undefined : formatOf(value)
  if (format === undefined) return undefined
  const foreignProblems = (...problems: readonly Problem[]): ForeignRules => ({
    parsed: { ok: false, problems, digest: parsed.digest },
    document,
    notes: [],
  })
  const { isRules, source } = CONVERTERS[format]
  if (!isRules) {
    const message = `is ${source}, not a rules file`
    const hint = 'convert it with squall import'
    return foreignProblems({
      code: 'wrong_type',
      message,
      path: '',
      ...document.position([]),
      hint,
    })
  }
  const imported = importRead({ parsed, document }, format)
  if (!imported.ok) return foreignProblems(...imported.problems)
  const unknown = imported.notes.flatMap(({ kind, message, path, line, column }): Problem[] =>
    kind === 'unknown' ? [{ code: 'unknown_key', message, path, line, column }] : [],
  )
  if (unknown.length > 0) return foreignProblems(...unknown)
  const own = parseWithPositions(imported.text)
  const start = document.position([])
  return {
    parsed: own.parsed,
    // Lines of the converted text would mislead.
    document: own.document && { ...own.document, position: () => start },
    notes: imported.notes.map((note) => noteLine(file, note)),
  }
}
