import { parsedJson, parsePointer, pointedAt, sameJson } from '#base'
import { LoadError } from './load-error.ts'

/** A condition that a usable tool result meets. */
export interface Expectation {
  /** The text as written. */
  readonly text: string
  /** The tool that the condition applies to; undefined means all. */
  readonly tool: string | undefined
  holds(result: unknown): boolean
}

const FORM =
  'write tool:/pointer, tool:/pointer=value, !=, >, >=, <, <= or =~expression, such as search:/structuredContent/total>0'
const OPERATOR = /=~|!=|>=|<=|=|>|</

type Test = (value: unknown) => boolean

/**
 * Parses `search:/structuredContent/total>0`; without a tool, or with `*`, the expectation applies
 * to all tools. Throws a `LoadError`.
 */
export function parseExpectation(text: string, ofTool?: string): Expectation {
  const slash = text.indexOf('/')
  const head = slash === -1 ? text : text.slice(0, slash)
  if (slash === -1 || (head !== '' && !head.endsWith(':')))
    throw invalid(text, 'is missing a JSON Pointer')
  const named = head.slice(0, -1)
  const rest = text.slice(slash)
  const found = OPERATOR.exec(rest)
  const pointer = rest.slice(0, found?.index).trimEnd()
  const keys = parsePointer(pointer)
  if (keys === undefined) throw invalid(text, 'contains an invalid JSON Pointer')
  const operand = found === null ? '' : rest.slice(found.index + found[0].length).trim()
  const test = testOf(text, found?.[0], operand)
  return {
    text,
    tool: named === '' || named === '*' ? ofTool : named,
    holds: (result) => test(pointedAt(result, keys)),
  }
}

function testOf(text: string, operator: string | undefined, operand: string): Test {
  if (operator === undefined) return (value) => value !== undefined && value !== null
  if (operand === '') throw invalid(text, `is missing a value after ${operator}`)
  if (operator === '=~') {
    const expression = expressionOf(text, operand)
    return (value) => typeof value === 'string' && expression.test(value)
  }
  const wanted = valueOf(operand)
  if (operator === '=') return (value) => sameJson(value, wanted)
  if (operator === '!=') return (value) => value !== undefined && !sameJson(value, wanted)
  if (typeof wanted !== 'number') throw invalid(text, `needs a number after ${operator}`)
  return comparison(operator, wanted)
}

/** Compares a number, or the length of an array, so that `/content>0` requires content. */
function comparison(operator: string, wanted: number): Test {
  return (value) => {
    const size: unknown = Array.isArray(value) ? value.length : value
    if (typeof size !== 'number') return false
    if (operator === '>') return size > wanted
    if (operator === '>=') return size >= wanted
    return operator === '<' ? size < wanted : size <= wanted
  }
}

function expressionOf(text: string, source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    throw invalid(text, 'contains an invalid regular expression')
  }
}

function valueOf(operand: string): unknown {
  const value = parsedJson(operand)
  return value === undefined ? operand : value
}

function invalid(text: string, why: string): LoadError {
  return new LoadError('INVALID_INPUT', `the expectation "${text.slice(0, 80)}" ${why}`, FORM)
}
