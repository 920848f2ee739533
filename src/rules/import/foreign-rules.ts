import { isRecord } from '../../base/values.ts'
import { parseWithPositions, type ReadRules } from '../file/parse.ts'
import type { Problem } from '../file/problem.ts'
import { CONVERTERS, formatOf, importRead } from './import.ts'
import { noteLine } from './note-text.ts'

/** Rules that another tool wrote, with a line for each field that differs. */
export interface ForeignRules extends ReadRules {
  readonly notes: readonly string[]
}

/**
 * Reads a rejected rules file as one of another tool; undefined for one of no known format. An
 * unknown field is an error here, because nobody reads the result before it acts.
 */
export function foreignRules(
  { parsed, document }: ReadRules,
  file: string,
): ForeignRules | undefined {
  if (parsed.ok || document === undefined || document.problems.length > 0) return undefined
  const { value } = document
  const format = isRecord(value) && 'rules' in value ? undefined : formatOf(value)
  if (format === undefined) return undefined
  const rejected = (...problems: readonly Problem[]): ForeignRules => ({
    parsed: { ok: false, problems, digest: parsed.digest },
    document,
    notes: [],
  })
  const { isRules, source } = CONVERTERS[format]
  if (!isRules) {
    const message = `is ${source}, not a rules file`
    const hint = 'convert it with squall import'
    return rejected({ code: 'wrong_type', message, path: '', ...document.position([]), hint })
  }
  const imported = importRead({ parsed, document }, format)
  if (!imported.ok) return rejected(...imported.problems)
  const unknown = imported.notes.flatMap(({ kind, message, path, line, column }): Problem[] =>
    kind === 'unknown' ? [{ code: 'unknown_key', message, path, line, column }] : [],
  )
  if (unknown.length > 0) return rejected(...unknown)
  const own = parseWithPositions(imported.text)
  const start = document.position([])
  return {
    parsed: own.parsed,
    // Lines of the converted text would mislead.
    document: own.document && { ...own.document, position: () => start },
    notes: imported.notes.map((note) => noteLine(file, note)),
  }
}
