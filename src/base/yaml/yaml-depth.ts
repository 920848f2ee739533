import { Lexer, Parser } from 'yaml'

/** Manifests and their schemas nest deeper than rules; what reads them recursively has room for this. */
export const MAX_YAML_DEPTH = 200
/** A map in a list in a map: each level of values is up to two of the parser's. */
const MAX_STACK = 2 * MAX_YAML_DEPTH + 20

/** YAML is nested too deeply to be read. */
export class DeepYamlError extends Error {
  readonly code = 'DEEP_YAML'
  readonly line: number

  constructor(line: number) {
    super(`line ${line} is nested more than ${MAX_YAML_DEPTH} levels deep`)
    this.line = line
  }
}

/**
 * Throws a `DeepYamlError` for a text that is nested too deeply, before anything recursive has seen it:
 * a stack that is full cannot be relied on to end in an error that can be caught.
 */
export function assertShallow(text: string): void {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    // Only what is still open matters: whole documents are let go of.
    Array.from(parser.next(lexeme))
    if (parser.stack.length <= MAX_STACK) continue
    throw new DeepYamlError(text.slice(0, parser.offset).split('\n').length)
  }
}
