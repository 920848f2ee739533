import { Composer, Lexer, LineCounter, Parser } from 'yaml'
import type { CST, Document } from 'yaml'
import { MAX_DEPTH } from './document-bounds.ts'

/** The documents of a text, and where its lines begin; or where it is nested too deeply. */
export type YamlSource =
  | { readonly documents: readonly Document.Parsed[]; readonly lines: LineCounter }
  | { readonly tooDeepAt: number; readonly lines: LineCounter }

/** A map in a list in a map: each level of values is up to two of the parser's. */
const MAX_STACK = 2 * MAX_DEPTH + 20
/** One is read; of the others it only matters whether there is anything in them. */
const MAX_DOCUMENTS = 20

/**
 * Parses a text, and gives up once it is nested too deeply, before anything recursive has seen it: a
 * stack that is full cannot be relied on to end in an error that can be caught.
 */
export function parseSource(text: string): YamlSource {
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
    // The reader's own check compares each key with each other one.
    uniqueKeys: false,
  })
  const documents: Document.Parsed[] = []
  for (const document of composer.compose(tokens)) {
    documents.push(document)
    if (documents.length > MAX_DOCUMENTS) break
  }
  return { documents, lines }
}
