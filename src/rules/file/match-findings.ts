import { isHeaderName } from '../../http/header-text.ts'
import type { Fields } from '../../base/values.ts'
import { conflict, type Finding, type Path } from './problem.ts'
import { parsePointer } from '../../base/json/json-pointer.ts'
import { isGlob } from '../../base/glob.ts'
import { ALL_METHODS } from '../../mcp/classify.ts'
import { CLIENT_METHODS, SERVER_METHODS } from '../../mcp/known-methods.ts'
import { editDistance, nearestName } from '../../base/nearest-name.ts'
import { jsonType } from './schema-node.ts'
import { ALL_KINDS, KINDS } from '../match/match-node.ts'

/** `tool` is allowed beside `http`: the exchange carries a call of such a tool. */
export const CALL_KEYS = [
  'direction',
  'kind',
  'method',
  'prompt',
  'resource',
  'args',
  'transport',
  'protocolVersion',
] as const
/** The syntax of Kubernetes. */
const LABEL_KEY =
  /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

/** Returns the contradictions in a well-formed match. */
export function matchFindings(match: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = []
  const { direction: sender = 'client', kind } = match
  if (kind !== undefined && sender === 'server') findings.push(responseOfServer(path))
  // A response has the method of a request that the server sent.
  const direction = kind === undefined ? sender : 'server'
  if (direction === 'server' && !hasHttp(match) && !saysMethod(match))
    findings.push(withoutMethod(path, kind === undefined ? 'direction' : 'kind'))
  const visit = (at: Fields, where: Path, underHttp: boolean): void => {
    for (const key of ['direction', 'kind']) {
      if (at !== match && at[key] !== undefined) findings.push(nestedKey(where, key))
    }
    findings.push(
      ...(direction === 'server' ? [] : kindFindings(at, where)),
      ...headerFindings(at, where),
      ...argsFindings(at, where),
      ...labelFindings(at, where),
    )
    if (!where.includes('not') && !underHttp) {
      findings.push(...methodFindings(at['method'], [...where, 'method'], direction))
    }
    findings.push(...httpFindings(at, where))
    for (const key of ['headers', 'baggage', 'args'] as const) {
      for (const [name, value] of Object.entries(asObject(at[key]) ?? {})) {
        findings.push(...operatorFindings(value, [...where, key, name]))
      }
    }
    findings.push(...operatorFindings(at['session'], [...where, 'session']))
    for (const key of underHttp ? CALL_KEYS : []) {
      if (at[key] === undefined) continue
      const message = `\`${key}\` matches calls; with \`http\`, a rule matches HTTP exchanges`
      findings.push(conflict([...where, key], message))
    }
    for (const [inner, step] of branches(at)) visit(inner, [...where, ...step], underHttp)
  }
  visit(match, path, hasHttp(match))
  return findings
}

/** Returns true when a match, or any part, is about HTTP exchanges. */
export function hasHttp(match: Fields): boolean {
  return match['http'] !== undefined || branches(match).some(([inner]) => hasHttp(inner))
}

/** Returns the matches that a match combines, and their places in it. */
export function branches(match: Fields): readonly [Fields, Path][] {
  const found: [Fields, Path][] = []
  for (const key of ['any', 'all'] as const) {
    const list = match[key]
    if (!Array.isArray(list)) continue
    for (const [index, each] of list.entries()) {
      const inner = asObject(each)
      if (inner !== undefined) found.push([inner, [key, index]])
    }
  }
  const not = asObject(match['not'])
  if (not !== undefined) found.push([not, ['not']])
  return found
}

function kindFindings(match: Fields, path: Path): readonly Finding[] {
  const [kind, ...more] = ALL_KINDS.filter((each) => match[each] !== undefined)
  if (kind === undefined) return []
  const hint = 'use `any` with one entry for each'
  const findings = more.map((each) =>
    conflict([...path, each], `no call has both a ${kind} and a ${each}`, { hint }),
  )
  const methods = exactTexts(match['method'])
  const known: readonly string[] = Object.values(KINDS[kind]).flat()
  if (methods !== undefined && !methods.some((method) => known.includes(method))) {
    const message = `no call of ${methods.join(' or ')} has a ${kind}`
    findings.push(conflict([...path, kind], message, { allowed: known }))
  }
  return findings
}

/** Returns true when a match, or any part, names a method. */
function saysMethod(match: Fields): boolean {
  return match['method'] !== undefined || branches(match).some(([inner]) => saysMethod(inner))
}

function responseOfServer(path: Path): Finding {
  const hint = 'remove `direction`: `kind: response` means responses of the client'
  return conflict([...path, 'kind'], 'responses of the server are matched by their calls', { hint })
}

function withoutMethod(path: Path, key: 'direction' | 'kind'): Finding {
  const what = key === 'kind' ? 'responses of the client' : 'messages of the server'
  const hint = 'add `method`, such as `notifications/progress`, or `"*"` for all'
  return conflict([...path, key], `a rule for ${what} requires \`method\``, { hint })
}

function nestedKey(path: Path, key: string): Finding {
  const hint = 'move the key up, beside `any`, `all` and `not`'
  return conflict([...path, key], `\`${key}\` applies to the whole rule`, { hint })
}

/** Finds methods that the other side sends. */
function methodFindings(method: unknown, path: Path, direction: unknown): readonly Finding[] {
  if (Array.isArray(method)) {
    return method.flatMap((each, index) => methodFindings(each, [...path, index], direction))
  }
  const regex = asObject(method)?.['regex']
  if (direction !== 'server' && typeof regex === 'string' && /^\^?notifications\//.test(regex)) {
    return [
      {
        code: 'conflict',
        message: 'a `regex` cannot match client notifications',
        path,
        found: regex,
        hint: 'write a name or a glob, such as `notifications/*`',
      },
    ]
  }
  if (typeof method !== 'string') return []
  const isOfServer = direction === 'server'
  if (!(isOfServer ? CLIENT_METHODS : SERVER_METHODS).includes(method))
    return misspelt(method, path)
  const sender = isOfServer ? 'client' : 'server'
  return [
    {
      code: 'conflict',
      message: `the ${sender} sends \`${method}\``,
      path,
      found: method,
      hint: isOfServer ? 'remove `direction: server`' : 'add `direction: server`',
    },
  ]
}

/** Returns the finding for a name that is almost a method of MCP, which no message would match. */
function misspelt(method: string, path: Path): readonly Finding[] {
  if (ALL_METHODS.has(method) || isGlob(method)) return []
  const near = nearestName(method, [...ALL_METHODS])
  if (near === undefined || editDistance(near, method) > 2) return []
  const hint = `did you mean \`${near}\`? To match a method of your own with a similar name, use \`regex\``
  return [
    {
      code: 'invalid_value',
      message: `MCP has no method \`${method}\``,
      path,
      found: method,
      hint,
    },
  ]
}

/** Returns the texts of a match that has only exact texts. */
function exactTexts(value: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const texts = list.filter((each): each is string => typeof each === 'string' && !isGlob(each))
  return texts.length === list.length ? texts : undefined
}

function headerFindings(match: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = []
  const seen = new Set<string>()
  const kinds = { headers: 'header name', baggage: 'baggage key' }
  for (const [kind, called] of Object.entries(kinds)) {
    for (const name of Object.keys(asObject(match[kind]) ?? {})) {
      const at = { path: [...path, kind, name], atKey: true, found: name }
      if (!isHeaderName(name)) {
        findings.push({ code: 'invalid_value', message: `not a valid ${called}`, ...at })
      } else if (kind === 'headers' && seen.has(name.toLowerCase())) {
        findings.push({ code: 'duplicate_key', message: 'duplicate header', ...at })
      }
      seen.add(name.toLowerCase())
    }
  }
  return findings
}

function argsFindings(match: Fields, path: Path): readonly Finding[] {
  return Object.keys(asObject(match['args']) ?? {})
    .filter((pointer) => parsePointer(pointer) === undefined)
    .map((pointer) => ({
      code: 'invalid_value',
      message: 'an argument must be named by a JSON Pointer, which begins with `/`',
      path: [...path, 'args', pointer],
      atKey: true,
      found: pointer,
      ...(pointer.startsWith('/')
        ? { hint: 'write `~0` for `~` and `~1` for `/` in a key' }
        : { hint: `did you mean \`/${pointer.replaceAll('.', '/')}\`?` }),
    }))
}

function labelFindings(match: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = []
  for (const [key, value] of Object.entries(asObject(match['podLabels']) ?? {})) {
    const at = { path: [...path, 'podLabels', key] }
    if (!LABEL_KEY.test(key)) {
      const message = 'must be a label key, such as `app` or `app.kubernetes.io/name`'
      findings.push({ code: 'invalid_value', message, ...at, atKey: true, found: key })
    } else if (typeof value === 'string' && !LABEL_VALUE.test(value)) {
      const hint = isGlob(value)
        ? 'label values are compared exactly; for patterns use `workload`'
        : 'use at most 63 letters, digits, dots, dashes and underscores'
      const message = 'not a valid label value'
      findings.push({ code: 'invalid_value', message, ...at, found: value, hint })
    }
  }
  return findings
}

function httpFindings(match: Fields, path: Path): readonly Finding[] {
  const http = asObject(match['http'])
  const findings: Finding[] = []
  for (const method of exactTexts(http?.['method']) ?? []) {
    if (method === method.toUpperCase()) continue
    findings.push({
      code: 'invalid_value',
      message: `an HTTP method must be in upper case; got \`${method}\``,
      path: [...path, 'http', 'method'],
      found: method,
      hint: `did you mean \`${method.toUpperCase()}\`?`,
    })
  }
  for (const target of exactTexts(http?.['path']) ?? []) {
    if (target.startsWith('/')) continue
    findings.push({
      code: 'invalid_value',
      message: 'a path must begin with `/`',
      path: [...path, 'http', 'path'],
      found: target,
    })
  }
  return findings
}

function operatorFindings(value: unknown, path: Path): readonly Finding[] {
  const operators = asObject(value)
  if (operators === undefined) return []
  const { present, absent, gt, lt } = operators
  const isAbsent = absent === true || present === false
  const others = Object.keys(operators).filter((key) => key !== 'absent' && key !== 'present')
  const findings: Finding[] = []
  if (isAbsent && others[0] !== undefined) {
    findings.push(conflict([...path, others[0]], 'an absent value cannot be compared'))
  }
  if (present !== undefined && absent !== undefined && present === absent) {
    findings.push(conflict([...path, 'absent'], 'contradicts `present`'))
  }
  if (typeof gt === 'number' && typeof lt === 'number' && gt >= lt) {
    findings.push(conflict([...path, 'lt'], `no number is above ${gt} and below ${lt}`))
  }
  return [...findings, ...operatorFindings(operators['not'], [...path, 'not'])]
}

const asObject = (value: unknown): Fields | undefined =>
  jsonType(value) === 'object' ? (value as Fields) : undefined
