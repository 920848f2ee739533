import { importFaults } from '../../../src/rules/import/import.ts'
import type { RulesFile } from '../../../src/rules/file/schema.ts'
import type { Problem } from '../../../src/rules/file/problem.ts'
import { accepted } from '../rules-text.ts'

/** The rules that a text becomes, and its notes as `line:column kind path`. */
export interface ImportedText {
  readonly file: RulesFile
  readonly notes: readonly string[]
  readonly text: string
}

/** Converts a text, which has to succeed. */
export function imported(source: string): ImportedText {
  const result = importFaults(source)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  const { text } = result
  const notes = result.notes.map((note) => `${note.line}:${note.column} ${note.kind} ${note.path}`)
  return { file: accepted(text), notes, text }
}

/** Returns the errors of a text that is rejected. */
export function notImported(source: string): readonly Problem[] {
  const result = importFaults(source)
  if (result.ok) throw new Error(result.text)
  return result.problems
}
