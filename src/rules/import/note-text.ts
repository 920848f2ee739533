import { plain } from '../../base/text/foreign-text.ts'
import type { Note } from './import.ts'
import type { NoteKind } from './report.ts'

/** Returns the kind of a note in words. */
export function kindText(kind: NoteKind): string {
  return kind.replace('_', ' ')
}

/** Formats a note as compilers do, on one line. */
export function noteLine(file: string, { kind, line, column, path, message }: Note): string {
  return plain(`${file}:${line}:${column}: ${kindText(kind)}: ${path}: ${message}`)
}
