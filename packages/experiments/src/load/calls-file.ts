import * as check from '#checks/calls'
import { fileSchema, located, ownFindings, readBySchema, readYaml, sentence } from '#rules'
import { CALLS_SCHEMA } from './file-schemas.ts'
import { parseExpectation } from './expectation.ts'
import { LoadError } from './load-error.ts'
import type { CallSpec } from './load-options.ts'

const FORM =
  'write calls: [{ tool: echo, arguments: { message: hi }, weight: 2, expect: [/content>0] }]'
const schema = fileSchema(CALLS_SCHEMA, check)

type WrittenCall = Omit<CallSpec, 'expect'> & { readonly expect: string | readonly string[] }

/** Parses a calls file. Throws a `LoadError` about the first problem. */
export function parseCalls(text: string): CallSpec[] {
  const document = readYaml(text)
  const [syntax] = document.problems
  const findings = syntax === undefined ? ownFindings(document.value, schema, 1) : []
  // A misspelt key says more than the one that is missing for it.
  const finding = findings.find(({ code }) => code === 'unknown_key') ?? findings[0]
  const problem = syntax ?? (finding && located(finding, document))
  if (problem !== undefined) {
    const where = `line ${problem.line}, column ${problem.column}`
    throw new LoadError('INVALID_INPUT', `the calls file: ${where}: ${sentence(problem)}`, FORM)
  }
  const read = readBySchema(document.value, schema)
  const calls = Array.isArray(read) ? read : (read as { readonly calls: unknown }).calls
  return (calls as readonly WrittenCall[]).map((call) => ({
    ...call,
    expect: [call.expect].flat().map((each) => parseExpectation(each, call.tool)),
  }))
}
