import { createRequire } from 'node:module'
import type { Ajv, CodeOptions } from 'ajv'
import { FORMATS } from './formats.ts'

const require = createRequire(import.meta.url)

/** What tells whether a text has a format, by the format's name. */
export const FORMAT_TESTS: Readonly<Record<string, (text: string) => boolean>> = Object.fromEntries(
  Object.entries(FORMATS).map(([name, format]) => [
    name,
    (text: string) => format.problem(text) === undefined,
  ]),
)

/** A compiler of schemas. It is loaded here alone, for most processes have no use for it. */
export function createCompiler(code: CodeOptions = {}): Ajv {
  const { Ajv: Compiler } = require('ajv') as { readonly Ajv: typeof Ajv }
  return new Compiler({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    logger: false,
    formats: FORMAT_TESTS,
    code,
  })
}
