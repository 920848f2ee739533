import { hasUnseen, plain, plainJson, quoted } from '../../base/text/foreign-text.ts'
import { parseRules, parseWithPositions, type ReadRules } from '../file/parse.ts'
import { pathText, type Path, type Problem } from '../file/problem.ts'
import { located, readYamlList, type YamlDocument } from '../file/yaml-document.ts'
import { CHAOS_MONKEY } from './chaos-monkey.ts'
import { CHAOS_MESH } from './chaos-mesh.ts'
import type { Converter } from './converter.ts'
import { ENVOY_GATEWAY, KGATEWAY } from './gateway-policy.ts'
import { ISTIO } from './istio.ts'
import { KUMA } from './kuma.ts'
import { itemsOf, listOf } from './manifest.ts'
import { MCP_CHAOS } from './mcp-chaos.ts'
import { ENVOY } from './envoy.ts'
import { type Format, FORMATS } from './formats.ts'
import {
  type Draft,
  type FileKeys,
  type FoundNote,
  NOTE_KINDS,
  type NoteKind,
  Report,
} from './report.ts'
import { TOXIPROXY } from './toxiproxy.ts'
import { Document, isMap, isPair, isSeq, visit } from 'yaml'

/** The converter of each format. */
export const CONVERTERS: Readonly<Record<Format, Converter>> = {
  'chaos-monkey': CHAOS_MONKEY,
  'mcp-chaos': MCP_CHAOS,
  istio: ISTIO,
  'envoy-gateway': ENVOY_GATEWAY,
  kgateway: KGATEWAY,
  'chaos-mesh': CHAOS_MESH,
  kuma: KUMA,
  toxiproxy: TOXIPROXY,
  envoy: ENVOY,
}

/** Reports a field that was not carried over, or not exactly. Lines and columns count from 1. */
export interface Note {
  readonly kind: NoteKind
  readonly message: string
  readonly path: string
  readonly line: number
  readonly column: number
}

/** The result of a conversion: rules, or the errors that reject the source. */
export type Imported =
  | {
      readonly ok: true
      readonly format: Format
      /** A valid rules file. */
      readonly text: string
      readonly rules: number
      readonly notes: readonly Note[]
    }
  | { readonly ok: false; readonly format?: Format; readonly problems: readonly Problem[] }

/**
 * Converts a file of another tool. Without a format, it is recognized. Several documents are read as
 * a `List` of Kubernetes objects. Never throws.
 */
export function importFaults(input: string | Uint8Array, format?: Format): Imported {
  const { parsed, document } = parseWithPositions(input)
  if (document?.problems[0]?.code !== 'several_documents') {
    return importRead({ parsed, document }, format)
  }
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('utf8')
  return importRead({ parsed, document: listOf(readYamlList(text)) ?? document }, format)
}

/** Converts a document that was read as a rules file before. */
export function importRead({ parsed, document }: ReadRules, given?: Format): Imported {
  if (document === undefined) return { ok: false, problems: parsed.ok ? [] : parsed.problems }
  if (document.problems.length > 0) return { ok: false, problems: document.problems }
  const { value } = document
  const format = given ?? formatOf(value)
  if (format !== undefined) return convert(format, document)
  const message = parsed.ok
    ? 'is already a rules file, or empty'
    : 'has an unknown format; set the format with --from'
  return { ok: false, problems: [problemAt(document, [], message)] }
}

/** Recognizes the format of a document. */
export function formatOf(value: unknown): Format | undefined {
  return FORMATS.find((name) => CONVERTERS[name].recognizes(value))
}

/** Returns true for a document that a sidecar reads in the place of rules. */
export function isForeignRules(value: unknown): boolean {
  const format = formatOf(value)
  return format !== undefined && CONVERTERS[format].isRules === true
}

function convert(format: Format, document: YamlDocument): Imported {
  const converter = CONVERTERS[format]
  const report = new Report()
  report.comment(`Converted from ${converter.source} by squall import.`)
  converter.convert(report, document.value)
  const rejected = (problems: readonly Problem[]): Imported => ({
    ok: false,
    format,
    problems,
  })
  const { value } = document
  noteOtherFormats(report, format, value)
  if (report.drafts.length + report.notes.length === 0 && !converter.recognizes(value)) {
    report.problem('wrong_type', `is not ${converter.source}`, [])
  }
  if (report.problems.length > 0) {
    return rejected(report.problems.map((each) => located(each, document)))
  }
  const text = rulesYaml(report.file, report.drafts, report.comments)
  const parsed = parseRules(text)
  if (!parsed.ok) return rejected(parsed.problems.map((each) => atSource(each, report, document)))
  const notes = report.notes.map((each) => noteAt(each, document)).sort(byPosition)
  return { ok: true, format, text, rules: report.drafts.length, notes }
}

/** Names the items of a list that another format converts. */
function noteOtherFormats(report: Report, format: Format, value: unknown): void {
  for (const item of itemsOf(value)) {
    const other = formatOf(item.value)
    if (other === undefined || other === format) continue
    const message = `is ${CONVERTERS[other].source}; convert it with --from ${other}`
    report.note('left_out', message, item.path)
  }
}

/** Moves an error of the converted rules to the object from which the rule comes. */
function atSource(problem: Problem, { drafts }: Report, document: YamlDocument): Problem {
  const index = /^rules\[(\d+)\]/.exec(problem.path)?.[1]
  const draft = index === undefined ? undefined : drafts[Number(index)]
  const rule = draft === undefined ? '' : ` of the rule ${quoted(draft.name)}`
  const where = problem.path.replace(/^rules\[\d+\]\.?/, '')
  const message = `becomes ${where || 'a file'}${rule}, which is invalid: ${problem.message}`
  return { ...problemAt(document, draft?.path ?? [], message), code: problem.code }
}

function problemAt(document: YamlDocument, path: Path, message: string): Problem {
  return located({ code: 'unreadable', message, path }, document)
}

function byPosition(a: Note, b: Note): number {
  return a.line - b.line || a.column - b.column
}

function noteAt({ kind, message, path, atKey }: FoundNote, document: YamlDocument): Note {
  return { kind, message, path: pathText(path), ...document.position(path, atKey) }
}

const MAX_LINE = 100

/** Formats rules as a file that people read and edit. */
function rulesYaml(file: FileKeys, drafts: readonly Draft[], comments: readonly string[]): string {
  const rules = drafts.map(({ name, keys }) => ({ name, ...keys }))
  const document = new Document(
    { version: 1, ...file, rules }, // Editors with YAML 1.1 read `on` as true.
    { aliasDuplicateObjects: false, compat: 'yaml-1.1' },
  )
  document.commentBefore = comments.map(comment).join('\n')
  const list = document.get('rules')
  if (isSeq(list)) list.items.forEach((item, index) => layOut(item, drafts[index], index > 0))
  visit(document, {
    Scalar: (_, node) => {
      const { value } = node
      if (typeof value === 'string' && hasUnseen(value.replaceAll('\n', ''))) {
        node.type = 'QUOTE_DOUBLE'
      }
    },
  })
  const text = document.toString({ lineWidth: 0, singleQuote: true })
  // Only double quotes have such characters left, and there an escape stands for the same value.
  return text.split('\n').map(plainJson).join('\n')
}

function layOut(rule: unknown, draft: Draft | undefined, spaceBefore: boolean): void {
  if (!isMap(rule)) return
  rule.spaceBefore = spaceBefore
  if (draft?.comment !== undefined) rule.commentBefore = comment(draft.comment)
  for (const key of ['match', 'burst', 'episode']) inline(rule.get(key))
  const faults = rule.get('faults')
  if (!isSeq(faults)) return
  for (const fault of faults.items) {
    if (isMap(fault)) for (const { value } of fault.items) inline(value)
  }
}

/** Writes a value on one line, or its members where that would be too long. */
function inline(node: unknown): void {
  if (!isMap(node) && !isSeq(node)) return
  if (JSON.stringify(node).length <= MAX_LINE) node.flow = true
  else for (const item of node.items) inline(isPair(item) ? item.value : item)
}

/** Returns a foreign text as a comment, which none of its characters can end. */
function comment(text: string): string {
  return text
    .split('\n')
    .map((line) => ` ${plain(line).trimEnd()}`)
    .join('\n')
}

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
