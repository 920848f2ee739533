import { Lexer, Parser } from 'yaml'

/** Manifests and their schemas nest deeper than rules; recursive readers can handle this depth. */
export const MAX_YAML_DEPTH = 200
/** One level of values has up to two levels of the parser: a map in a list in a map. */
const MAX_STACK = 2 * MAX_YAML_DEPTH + 20

/** Reports YAML that is nested too deeply. */
export class DeepYamlError extends Error {
  readonly code = 'DEEP_YAML'
  readonly line: number

  constructor(line: number) {
    super(`line ${line} is nested more than ${MAX_YAML_DEPTH} levels deep`)
    this.line = line
  }
}

/**
 * Throws a `DeepYamlError` for a text that is nested too deeply, before a recursive reader gets it:
 * a stack overflow cannot be caught reliably.
 */
export function assertShallow(text: string): void {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    // Only open collections matter: finished documents are dropped.
    Array.from(parser.next(lexeme))
    if (parser.stack.length <= MAX_STACK) continue
    throw new DeepYamlError(text.slice(0, parser.offset).split('\n').length)
  }
}
