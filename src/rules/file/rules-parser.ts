import { inThread } from '../../base/in-thread.ts'
import { endingAfter } from '../../base/deadline.ts'
import { mergeFiles } from './merge-files.ts'
import { MAX_PROBLEMS, parseWithPositions, type ReadRules } from './parse.ts'
import { fileProblem, type FileProblems, type Problem, problemFrames } from './problem.ts'
import { deepFreeze, isRecord } from '../../base/values.ts'
import { ruleTexts } from './rule-text.ts'
import type { FoundRules, RulesText, RulesVersion } from './rules-file.ts'
import { CONVERTERS, formatOf, importRead, noteLine } from '../import/import.ts'

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

/**
 * The largest text that is parsed on the main thread, between calls. It holds fifty rules, which
 * take about 15 ms; a text with an error in each line takes longer.
 */
export const MAX_BETWEEN_CALLS = 8 * 1024
/** Ten times the measured time of the slowest text of the maximum size. */
const TIME_LIMIT = 30_000

// The built worker exists only after a build; from source, parsing stays on the main thread.
export const COMPILED = import.meta.url.endsWith('.js')
  ? new URL('../rules/file/parse-worker.js', import.meta.url)
  : undefined

/**
 * Parses found files into a version, large ones in a worker thread so that calls continue. Returns
 * undefined when the signal aborts.
 */
export async function parseWherever(
  found: FoundRules,
  signal: AbortSignal,
  script: URL | undefined = COMPILED,
): Promise<RulesVersion | undefined> {
  if (signal.aborted) return undefined
  if (script === undefined || found.kind === 'absent' || sizeOf(found) <= MAX_BETWEEN_CALLS) {
    return parseFound(found)
  }
  const version = await inThread<RulesVersion>(
    script,
    found,
    endingAfter(TIME_LIMIT, signal),
  ).catch((error: unknown) => rejectedFor(found, whyNot(error)))
  if (version !== undefined) return deepFreeze(version)
  return signal.aborted ? undefined : rejectedFor(found, `parsing took over ${TIME_LIMIT} ms`)
}

function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'not enough memory to parse it' : message
}

function sizeOf(found: FoundRules & { readonly kind: 'found' }): number {
  return found.texts.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

function rejectedFor(found: FoundRules, why: string): RulesVersion {
  const file = found.kind === 'found' ? (found.texts[0]?.file ?? '') : ''
  const problems = [fileProblem(file, 'unreadable', `cannot be read: ${why}`)]
  return { kind: 'rejected', digest: found.digest, problems }
}
