import { plain } from '../../base/text/foreign-text.ts'
import type { Imported, Note } from './import.ts'
import { NOTE_KINDS, type NoteKind } from './report.ts'

function kindText(kind: NoteKind): string {
  return kind.replace('_', ' ')
}

/** Formats a note as compilers do, on one line. */
export function noteLine(file: string, { kind, line, column, path, message }: Note): string {
  return plain(`${file}:${line}:${column}: ${kindText(kind)}: ${path}: ${message}`)
}

/** Formats the notes on a conversion, and a line with their counts. */
export function notesText(
  file: string,
  { format, rules, notes }: Extract<Imported, { readonly ok: true }>,
): string {
  const counts = NOTE_KINDS.flatMap((kind) => {
    const count = notes.filter((note) => note.kind === kind).length
    return count === 0 ? [] : `${count} ${kindText(kind)}`
  })
  const total = `${rules} ${rules === 1 ? 'rule' : 'rules'} from ${format}`
  const end = counts.length === 0 ? 'every field was converted' : `fields: ${counts.join(', ')}`
  return `${notes.map((note) => `${noteLine(file, note)}\n`).join('')}${plain(file)}: ${total}; ${end}\n`
}
