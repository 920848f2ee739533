import {
  type Document,
  type Node,
  type YAMLError,
  isMap,
  isScalar,
  isSeq,
  Composer,
  Lexer,
  LineCounter,
  Parser,
  type CST,
} from 'yaml'
import { plain, quoted } from '../../base/text/foreign-text.ts'
import { type Measured, measureDocument, MAX_DEPTH, MAX_VALUES } from './document-bounds.ts'
import { offsetOf } from './node-offset.ts'
import { type Finding, type Path, pathText, type Problem, type ProblemCode } from './problem.ts'

/** One level of values has up to two levels of the parser: a map in a list in a map. */
const MAX_STACK = 2 * MAX_DEPTH + 20
/** Limits the documents of a text. */
const MAX_DOCUMENTS = 100
const MORE_DOCUMENTS = `a file must have at most ${MAX_DOCUMENTS} documents`
const SECOND_DOCUMENT = 'a file must have one document; this is a second one'
/** A line that begins so starts or ends a document. Markers with nothing until the next are free. */
const MARKER = /^(?:---|\.\.\.)(?=\s+\S)(?!\s+(?:---|\.\.\.)\s)/gm

const MAX_FOUND = 100

/** Returns a problem for each duplicate key, in order. The document's depth was checked before. */
function duplicateKeys(
  document: Document.Parsed,
  positionAt: ReadSource['positionAt'],
): readonly Problem[] {
  const found: Problem[] = []
  const visit = (node: unknown): void => {
    if (isSeq(node)) {
      for (const item of node.items) visit(item)
    } else if (isMap(node)) {
      const keys = new Set<string>()
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : ''
        if (keys.has(name) && found.length < MAX_FOUND) {
          const at = positionAt((isScalar(key) ? key.range?.[0] : undefined) ?? 0)
          const message = `duplicate key ${quoted(name)}`
          found.push({ code: 'duplicate_key', message, path: '', found: name, ...at })
        }
        keys.add(name)
        visit(value)
      }
    }
  }
  visit(document.contents)
  return found
}

/** A position in the text, from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** The documents of a text that is not nested too deeply. */
interface ReadSource {
  readonly documents: readonly Document.Parsed[]
  readonly positionAt: (offset: number) => Position
}

/** A text read as YAML or JSON, as far as possible. */
export interface YamlDocument {
  readonly problems: readonly Problem[]
  /** Undefined for an unreadable text; null for an empty one. */
  readonly value: unknown
  /** Returns the position of the value at a path; with `atKey` that of its key. */
  position(path: Path, atKey?: boolean): Position
}

/** Turns the path of a finding into its position in the text. */
export function located({ atKey, path, ...rest }: Finding, document: YamlDocument): Problem {
  return { ...rest, path: pathText(path), ...document.position(path, atKey) }
}

const MAX_SYNTAX_PROBLEMS = 20
const START: Position = { line: 1, column: 1 }

/** Reads a text of one document. Never throws. */
export function readYaml(text: string): YamlDocument {
  return guarded(text, readSingle, SECOND_DOCUMENT)
}

/** Reads a text of several documents into a list of their values. Never throws. */
export function readYamlList(text: string): YamlDocument {
  return guarded(text, readList, MORE_DOCUMENTS)
}

function guarded(
  text: string,
  read: (source: ReadSource) => YamlDocument,
  tooMany: string,
): YamlDocument {
  // The byte order mark would shift the columns of the first line.
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const excess = excessMarker(body)
  if (excess !== undefined) {
    const line = body.slice(0, excess).split('\n').length
    return failed('several_documents', tooMany, { line, column: 1 })
  }
  try {
    const source = parseSource(body)
    const positionAt = (offset: number): Position => {
      const { line, col } = source.lines.linePos(Math.min(offset, body.length))
      return line < 1 ? START : { line, column: Math.max(1, col) }
    }
    if (!('tooDeepAt' in source)) return read({ documents: source.documents, positionAt })
    return failed('too_deep', 'nested too deeply', positionAt(source.tooDeepAt))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return failed('unreadable', `cannot be read: ${plain(reason)}`, START)
  }
}

/** Returns the offset of a marker for which no allowed document is left; parsing takes longer. */
function excessMarker(text: string): number | undefined {
  let markers = 0
  for (const { index } of text.matchAll(MARKER)) if (++markers > 2 * MAX_DOCUMENTS) return index
  return undefined
}

function readSingle({ documents, positionAt }: ReadSource): YamlDocument {
  const [document, ...others] = documents
  if (document === undefined) return empty
  const second = others.find((other) => !isNothing(other.contents))
  if (second !== undefined) {
    const position = positionAt(startOfDocument(second))
    return failed('several_documents', SECOND_DOCUMENT, position)
  }
  const errors = [...document.errors, ...document.warnings, ...others.flatMap((o) => o.errors)]
  return (
    syntaxErrors(errors, positionAt) ??
    readDocument(document, measureDocument(document), positionAt)
  )
}

function readList({ documents, positionAt }: ReadSource): YamlDocument {
  const errors = documents.flatMap((document) => [...document.errors, ...document.warnings])
  const wrong = syntaxErrors(errors, positionAt)
  if (wrong !== undefined) return wrong
  const last = documents[MAX_DOCUMENTS]
  if (last !== undefined) {
    return failed('several_documents', MORE_DOCUMENTS, positionAt(startOfDocument(last)))
  }
  const written = documents.filter(({ contents }) => !isNothing(contents))
  let values = 0
  const read: YamlDocument[] = []
  for (const document of written) {
    const measured = measureDocument(document)
    values += measured.values
    if (values > MAX_VALUES) {
      const message = `has more than ${MAX_VALUES} values`
      return failed('too_many', message, positionAt(startOfDocument(document)))
    }
    read.push(readDocument(document, measured, positionAt))
  }
  return {
    problems: read.flatMap(({ problems }) => problems),
    value: read.map(({ value }) => value),
    position: ([index, ...path], atKey) =>
      (read[Number(index ?? 0)] ?? empty).position(path, atKey),
  }
}

function syntaxErrors(
  errors: readonly YAMLError[],
  positionAt: ReadSource['positionAt'],
): YamlDocument | undefined {
  if (errors.length === 0) return undefined
  const problems = errors
    .slice(0, MAX_SYNTAX_PROBLEMS)
    .map((error) => syntaxProblem(error, positionAt(error.pos[0])))
  return { problems, value: undefined, position: () => START }
}

/** Reads a document without syntax errors. */
function readDocument(
  document: Document.Parsed,
  { targets, exceeded }: Measured,
  positionAt: ReadSource['positionAt'],
): YamlDocument {
  if (exceeded !== undefined) {
    const { code, message, offset, hint } = exceeded
    return failed(code, message, positionAt(offset), hint)
  }
  const position = (path: Path, atKey = false): Position =>
    positionAt(offsetOf(document.contents, targets, path, atKey))
  const problems = duplicateKeys(document, positionAt)
  // The expansion of aliases was checked above, by its size and not by their number.
  return { problems, value: document.toJS({ maxAliasCount: -1 }) as unknown, position }
}

const empty: YamlDocument = { problems: [], value: null, position: () => START }

function failed(
  code: ProblemCode,
  message: string,
  position: Position,
  hint?: string,
): YamlDocument {
  return {
    problems: [{ code, message, path: '', ...position, ...(hint !== undefined && { hint }) }],
    value: undefined,
    position: () => position,
  }
}

function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null)
}

function startOfDocument({ contents, range }: Document.Parsed): number {
  return contents?.range?.[0] ?? range[0]
}

function syntaxProblem(error: YAMLError, position: Position): Problem {
  return { code: 'syntax', message: messageOf(error), path: '', ...position }
}

const MESSAGES: Readonly<Partial<Record<string, string>>> = {
  BAD_ALIAS: 'quote a string that begins with `*`: `"*"`',
  TAB_AS_INDENT: 'a tab cannot indent YAML; use spaces',
  NON_STRING_KEY: 'a key must be a string; write it in quotes',
  TAG_RESOLVE_FAILED: 'tags are not supported; write the value without it',
}

function messageOf(error: YAMLError): string {
  return MESSAGES[error.code] ?? `invalid YAML: ${plain(error.message)}`
}

/** The documents and line starts of a text; or the position where it is nested too deeply. */
type YamlSource =
  | { readonly documents: readonly Document.Parsed[]; readonly lines: LineCounter }
  | { readonly tooDeepAt: number; readonly lines: LineCounter }

/**
 * Parses a text, and stops once it is nested too deeply, before a recursive reader gets it: a stack
 * overflow cannot be caught reliably.
 */
function parseSource(text: string): YamlSource {
  const lines = new LineCounter()
  const parser = new Parser(lines.addNewLine)
  const tokens: CST.Token[] = []
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (parser.stack.length > MAX_STACK) return { tooDeepAt: parser.offset, lines }
  }
  for (const token of parser.end()) tokens.push(token)
  const composer = new Composer({
    prettyErrors: false,
    logLevel: 'silent',
    stringKeys: true,
    version: '1.2',
    // The check of the YAML reader compares every pair of keys.
    uniqueKeys: false,
  })
  const documents: Document.Parsed[] = []
  for (const document of composer.compose(tokens)) {
    documents.push(document)
    if (documents.length > MAX_DOCUMENTS) break
  }
  return { documents, lines }
}
