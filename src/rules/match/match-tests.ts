import { headerValue, headerValues } from '../../http/headers.ts'
import type { Call } from '../../mcp/call.ts'
import { SERVER_REQUESTS, isHandshake, isOfOther } from '../../mcp/classify.ts'
import type { Facts } from './call-facts.ts'
import { matchesHeader } from './header-test.ts'
import { matchedName } from '../../mcp/task-tools.ts'
import { parsePointer, pointedAt } from '../../base/json/json-pointer.ts'
import type { ClientSpec, HttpSpec, MatchSpec } from '../file/match-spec.ts'
import { type Direction, type MatchTest, showValue, shownNamed } from './match-test.ts'
import { outboundTests } from './outbound-tests.ts'
import { parseProtocolVersionRange } from '../file/protocol-version-range.ts'
import { callArguments } from '../select/selection.ts'
import { type TextMatcher, type TextSpec, compileText } from './text-match.ts'
import { type ValueSpec, compileValue, matchesValue, matchesAny } from './value-match.ts'
import { globPrefix, matchesGlob } from '../../base/glob.ts'
import { isExemptPath } from '../../http/exempt-path.ts'
import { parseBaggage } from '../../http/baggage.ts'
import { fieldsOf } from '../../base/values.ts'

export function directionTest(direction: Direction): MatchTest {
  return {
    dimension: 'direction',
    wants: direction,
    test: ({ call }) => call !== undefined && isIn(direction, call),
    found: ({ call }) => (call?.kind === 'response' ? 'response' : (call?.from ?? 'client')),
  }
}

/**
 * Returns true for a message that a rule may be about. Some methods have no other message of the
 * client.
 */
function isIn(direction: Direction, { from, kind, method }: Call): boolean {
  if (kind !== 'response') return (from ?? 'client') === direction
  return direction === 'response' || (direction === 'client' && SERVER_REQUESTS.includes(method))
}

export function methodTest(matcher: TextMatcher, direction: Direction): MatchTest {
  return {
    dimension: 'method',
    wants: matcher.wants,
    test: ({ call }) => call !== undefined && takesMethod(matcher, call.method, direction),
    found: ({ call }) => showValue(call?.method),
  }
}

/**
 * Returns true when a matcher takes a method. Handshakes are matched by their name alone, never by
 * a glob; other messages of the client by their name, or a glob for notifications.
 */
export function takesMethod(matcher: TextMatcher, method: string, direction: Direction): boolean {
  if (isHandshake(method)) return matcher.exact.includes(method)
  if (direction !== 'client' || !isOfOther(method)) return matcher.test(method)
  if (matcher.exact.includes(method)) return true
  const globs = matcher.globs.filter((glob) => globPrefix(glob).startsWith(NOTIFICATIONS))
  return method.startsWith(NOTIFICATIONS) && globs.some((glob) => matchesGlob(glob, method))
}

const NOTIFICATIONS = 'notifications/'

/** Tests the tool, prompt or resource of a call. */
export function nameTest(
  kind: 'tool' | 'prompt' | 'resource',
  matcher: TextMatcher,
  nameOf: (method: string) => 'name' | 'list' | undefined,
): MatchTest {
  return {
    dimension: kind,
    wants: matcher.wants,
    test({ call }) {
      if (call === undefined) return false
      const by = nameOf(call.method)
      // A list is matched as a whole: which of its entries are meant is for the faults to look at.
      if (by === 'list') return true
      const name = matchedName(call)
      return by === 'name' && name !== undefined && matcher.test(name)
    },
    found: ({ call }) =>
      call !== undefined && nameOf(call.method) === 'name'
        ? showValue(matchedName(call))
        : 'absent',
  }
}

/** Tests the tools of the calls that an exchange carries. */
export function toolsTest(matcher: TextMatcher): MatchTest {
  return {
    dimension: 'tool',
    wants: matcher.wants,
    test: ({ tools = [] }) => tools.some((tool) => matcher.test(tool)),
    found: ({ tools = [] }) => (tools.length === 0 ? 'absent' : tools.map(showValue).join(', ')),
  }
}

/** The tests of everything but method, names and combinations. */
export function plainTests(spec: MatchSpec): MatchTest[] {
  const tests: MatchTest[] = []
  if (spec.transport !== undefined) tests.push(transportTest([spec.transport].flat()))
  if (spec.protocolVersion !== undefined)
    tests.push(protocolVersionTest([spec.protocolVersion].flat()))
  if (spec.session !== undefined) tests.push(sessionTest(spec.session))
  if (spec.client !== undefined) tests.push(...clientTests(spec.client))
  for (const [name, value] of Object.entries(spec.headers ?? {})) {
    tests.push(headerTest(name.toLowerCase(), value))
  }
  for (const [key, value] of Object.entries(spec.baggage ?? {})) {
    tests.push(baggageTest(key, value))
  }
  for (const [pointer, value] of Object.entries(spec.args ?? {})) {
    tests.push(argsTest(pointer, value))
  }
  if (spec.http !== undefined) tests.push(...httpTests(spec.http))
  if (spec.outbound !== undefined) tests.push(...outboundTests(spec.outbound))
  return tests
}

function transportTest(transports: readonly string[]): MatchTest {
  return {
    dimension: 'transport',
    wants: transports.join(' or '),
    test: ({ call }) => call !== undefined && transports.includes(call.transport),
    found: ({ call }) => showValue(call?.transport),
  }
}

function protocolVersionTest(ranges: readonly string[]): MatchTest {
  const tests = ranges.map((range) => {
    const test = parseProtocolVersionRange(range)
    if (test === undefined) throw new TypeError(`${range} is not a range of protocol versions`)
    return test
  })
  return {
    dimension: 'protocolVersion',
    wants: ranges.join(' or '),
    test(facts) {
      const protocolVersion = protocolVersionOf(facts)
      return protocolVersion !== undefined && tests.some((test) => test(protocolVersion))
    },
    found: (facts) => showValue(protocolVersionOf(facts)),
  }
}

function protocolVersionOf(facts: Facts): string | undefined {
  return facts.call?.protocolVersion ?? facts.protocolVersion
}

function sessionTest(spec: ValueSpec): MatchTest {
  const matcher = compileValue(spec, 'text')
  return {
    dimension: 'session',
    wants: matcher.wants,
    test: ({ session }) => matchesValue(matcher, session),
    found: ({ session }) => showValue(session),
  }
}

function clientTests(spec: TextSpec | ClientSpec): MatchTest[] {
  const { name, version } = isClient(spec) ? spec : { name: spec, version: undefined }
  const tests: MatchTest[] = []
  const add = (key: 'name' | 'version', of: TextSpec): void => {
    const matcher = compileText(of)
    tests.push({
      dimension: `client.${key}`,
      wants: matcher.wants,
      test: ({ client }) => client !== undefined && matcher.test(client[key]),
      found: ({ client }) => showValue(client?.[key]),
    })
  }
  if (name !== undefined) add('name', name)
  if (version !== undefined) add('version', version)
  return tests
}

function headerTest(name: string, spec: ValueSpec): MatchTest & HeaderIs {
  const matcher = compileValue(spec, 'text')
  return {
    dimension: `headers.${name}`,
    wants: matcher.wants,
    header: name,
    only: matcher.only,
    test: ({ headers }) => matchesHeader(headers, name, matcher),
    found: (facts) => shownNamed(name, headerValue(facts.headers, name)),
  }
}

/** A test that wants one value of one header: rules can be looked up by it. */
export interface HeaderIs {
  readonly header: string
  readonly only: string | undefined
}

/** The header and its one value, where that is all that a test asks. */
export function headerIs(test: MatchTest): { header: string; only: string } | undefined {
  const { header, only } = test as Partial<HeaderIs>
  return header === undefined || only === undefined ? undefined : { header, only }
}

function argsTest(pointer: string, spec: ValueSpec): MatchTest {
  const keys = parsePointer(pointer)
  if (keys === undefined) throw new TypeError(`${pointer} is not a JSON Pointer`)
  const matcher = compileValue(spec, 'json')
  const valueIn = ({ call }: Facts): unknown => pointedAt(callArguments(call?.params), keys)
  return {
    dimension: `args.${pointer}`,
    wants: matcher.wants,
    test: (facts) => matchesValue(matcher, valueIn(facts)),
    found: (facts) => showValue(valueIn(facts)),
  }
}

function isClient(spec: TextSpec | ClientSpec): spec is ClientSpec {
  if (typeof spec !== 'object' || Array.isArray(spec)) return false
  return 'name' in spec || 'version' in spec
}

/**
 * The tests of an HTTP exchange. Health probes, OAuth and discovery are matched only where the
 * rule's path names them, and preflights only where its method does.
 */
function httpTests(spec: HttpSpec): MatchTest[] {
  const { method, path, status } = spec
  const tests: MatchTest[] = []
  const methods = method === undefined ? undefined : compileText(method)
  tests.push({
    dimension: 'http.method',
    wants: methods?.wants ?? 'any but OPTIONS',
    test: ({ http }) =>
      http.method === 'OPTIONS'
        ? methods !== undefined && methods.exact.includes('OPTIONS')
        : methods === undefined || methods.test(http.method),
    found: ({ http }) => http.method,
  })
  const paths = path === undefined ? undefined : compileText(path)
  const naming = paths?.globs.filter((glob) => isExemptPath(globPrefix(glob))) ?? []
  const named = naming.length === 0 ? undefined : compileText(naming)
  tests.push({
    dimension: 'http.path',
    wants: paths?.wants ?? 'any but health probes, OAuth and /.well-known',
    test({ http }) {
      if (!isExemptPath(http.path)) return paths === undefined || paths.test(http.path)
      if (paths === undefined) return false
      return paths.exact.includes(http.path) || (named !== undefined && named.test(http.path))
    },
    found: ({ http }) => showValue(http.path),
  })
  if (status !== undefined) tests.push(statusTest([status].flat()))
  return tests
}

function statusTest(wanted: readonly (number | string)[]): MatchTest {
  const exact = new Set<number>()
  const classes = new Set<number>()
  for (const status of wanted) {
    const text = String(status)
    if (/^[1-5]xx$/i.test(text)) classes.add(Number(text[0]))
    else exact.add(Number(text))
  }
  return {
    dimension: 'http.status',
    wants: wanted.join(' or '),
    test: ({ status }) =>
      status !== undefined && (exact.has(status) || classes.has(Math.floor(status / 100))),
    found: ({ status }) => showValue(status),
  }
}

type Baggage = ReturnType<typeof parseBaggage>
/** The baggage of a call or exchange, which many rules may test. */
const READ = new WeakMap<Facts, Baggage>()

/** Tests a member of the baggage of a call, or else of its request. */
function baggageTest(key: string, spec: ValueSpec): MatchTest {
  const matcher = compileValue(spec, 'text')
  return {
    dimension: `baggage.${key}`,
    wants: matcher.wants,
    test: (facts) => matchesAny(matcher, baggageOf(facts).get(key) ?? []),
    found: (facts) => shownNamed(key, baggageOf(facts).get(key)?.join(', ')),
  }
}

function baggageOf(facts: Facts): Baggage {
  let read = READ.get(facts)
  if (read === undefined) {
    const { baggage } = fieldsOf(fieldsOf(facts.call?.params)['_meta'])
    read = parseBaggage(typeof baggage === 'string' ? baggage : '')
    if (read.size === 0) read = parseBaggage(headerValues(facts.headers, 'baggage').join())
    READ.set(facts, read)
  }
  return read
}
