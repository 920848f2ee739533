import { LineCounter, parseDocument } from 'yaml'
import { isRecord } from '../../base/values.ts'
import { assertShallow } from '../../base/yaml/yaml-depth.ts'
import type { CallSpec } from './load-options.ts'
import { parseExpectation } from './expectation.ts'
import { LoadError } from './load-error.ts'

const FORM =
  'write calls: [{ tool: echo, arguments: { message: hi }, weight: 2, expect: [/content>0] }]'
const MAX_CALLS = 1000
const KEYS = new Set(['tool', 'arguments', 'weight', 'expect'])

/** Parses a calls file. Throws a `LoadError`. */
export function parseCalls(text: string): CallSpec[] {
  try {
    assertShallow(text)
  } catch (error) {
    throw bad((error as Error).message)
  }
  const document = parseDocument(text, { lineCounter: new LineCounter(), prettyErrors: true })
  const [problem] = document.errors
  if (problem !== undefined) throw bad(problem.message.split('\n')[0]!)
  const value = valueOf(document)
  const calls: unknown = isRecord(value) ? value['calls'] : value
  if (!Array.isArray(calls) || calls.length === 0) throw bad('there is no list of calls')
  if (calls.length > MAX_CALLS) throw bad(`there are more than ${MAX_CALLS} calls`)
  return calls.map((call, i) => callOf(call, i + 1))
}

function valueOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    // Bounds alias expansion, so that a small file cannot expand to millions of values.
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw bad((error as Error).message)
  }
}

function callOf(call: unknown, number: number): CallSpec {
  if (!isRecord(call)) throw bad(`call ${number} is no mapping`)
  const unknown = Object.keys(call).find((key) => !KEYS.has(key))
  if (unknown !== undefined)
    throw bad(`call ${number} has an unknown key "${unknown.slice(0, 40)}"`)
  const { tool, arguments: args, weight = 1, expect = [] } = call
  if (typeof tool !== 'string' || tool === '') throw bad(`call ${number} names no tool`)
  if (args !== undefined && !isRecord(args))
    throw bad(`the arguments of call ${number} are no mapping`)
  if (typeof weight !== 'number' || !(weight > 0 && weight <= 1e6)) {
    throw bad(`the weight of call ${number} is no number above 0`)
  }
  const conditions: unknown[] = Array.isArray(expect) ? expect : [expect]
  if (!conditions.every((each) => typeof each === 'string')) {
    throw bad(`what call ${number} expects is no text`)
  }
  return {
    tool,
    weight,
    ...(args !== undefined && { arguments: args }),
    expect: conditions.map((each) => parseExpectation(each, tool)),
  }
}

function bad(why: string): LoadError {
  return new LoadError('BAD_INPUT', `the file of calls: ${why}`, FORM)
}
