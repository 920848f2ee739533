import { fieldsOf, isRecord } from '../../base/values.ts'
import type { Path } from '../file/problem.ts'
import type { Converter } from './converter.ts'
import { Entry } from './entry.ts'
import { aside, leftOut, limit, shape, to } from './fields.ts'
import {
  asHeader,
  asName,
  exchanges,
  headerIs,
  type HttpMatch,
  type TextTest,
} from './http-match.ts'
import { manifestsOf } from './manifest.ts'
import type { Item, Report } from './report.ts'
import { fixedDelay, percentOf } from './values.ts'
import { escaped } from '../match/text-match.ts'

const TYPE = /\.filter(?:s)?\.http\.fault\.v[23]\.HTTPFault$/
const NODE_HEADER = 'x-envoy-downstream-service-node'
const BY_HEADER = leftOut('callers request faults by headers with `squall run --header-faults`')
const RUNTIME = leftOut('Squall has no runtime layer; the rules file reloads live')
const PERCENTAGE = to('`percent`; 0 if not set')

const FAULT = shape('`HTTPFault`', {
  '@type': aside('names the type'),
  delay: to('a rule with `delay`'),
  abort: to('a rule with `abort`'),
  response_rate_limit: to('a rule with `throttle`'),
  headers: to('`match.headers`, `:method` as `match.http.method`, `mcp-name` as `match.tool`'),
  downstream_nodes: to(`\`match.headers\`: \`${NODE_HEADER}\``),
  upstream_cluster: limit('Squall has no clusters'),
  max_active_faults: to('`maxActive` of the file or, with several filters, of each rule'),
  delay_percent_runtime: RUNTIME,
  abort_percent_runtime: RUNTIME,
  delay_duration_runtime: RUNTIME,
  abort_http_status_runtime: RUNTIME,
  max_active_faults_runtime: RUNTIME,
  response_rate_limit_percent_runtime: RUNTIME,
  abort_grpc_status_runtime: RUNTIME,
  disable_downstream_cluster_stats: aside('concerns statistics'),
})
const DELAY = shape('`delay`', {
  fixed_delay: to('`fixed`'),
  header_delay: BY_HEADER,
  percentage: PERCENTAGE,
  type: aside('deprecated'),
})
const ABORT = shape('`abort`', {
  http_status: to('`status`'),
  grpc_status: leftOut('gRPC is not supported'),
  header_abort: BY_HEADER,
  percentage: PERCENTAGE,
})
const RATE_LIMIT = shape('`response_rate_limit`', {
  fixed_limit: to('`limit_kbps` becomes `rate`, in KiB'),
  header_limit: BY_HEADER,
  percentage: PERCENTAGE,
})
const FIXED_LIMIT = shape('`fixed_limit`', { limit_kbps: to('`throttle.rate`') })
const PERCENT = shape('`percentage`', {
  numerator: to('`percent`'),
  denominator: to('`percent`; the default is `HUNDRED`'),
})
const STRING_FIELDS = {
  exact: to('the text'),
  prefix: to('`prefix`'),
  suffix: to('`suffix`'),
  contains: to('`contains`'),
  safe_regex: to('`regex`'),
  ignore_case: to('a `regex` with `(?i)`'),
}
const STRING = shape('`string_match`', STRING_FIELDS)
const HEADER = shape('each of `headers`', {
  name: to('the name in `match.headers`; `:authority` is `host`'),
  exact_match: to('the text'),
  prefix_match: to('`prefix`'),
  suffix_match: to('`suffix`'),
  contains_match: to('`contains`'),
  safe_regex_match: to('`regex`'),
  string_match: to('the comparison'),
  present_match: to('`present` or `absent`'),
  range_match: limit('headers are not compared as numbers'),
  invert_match: to('`not`, with `present: true`'),
  treat_missing_header_as_empty: limit('rules cannot treat a missing header as empty'),
})
const REGEX = shape('`safe_regex`', {
  regex: to('`regex`, for the whole value'),
  google_re2: aside('names the engine'),
})

type FaultEntry = Entry<keyof typeof FAULT.fields>
type HeaderEntry = Entry<keyof typeof HEADER.fields>

export const ENVOY: Converter = {
  source: 'an Envoy fault filter',
  about:
    'The filter can be anywhere in the configuration (in a listener, in a filter chain or alone), in camelCase or snake_case. Squall ignores other parts. A filter becomes a disabled rule if it is below `typed_per_filter_config` (because it applies to a single route), belongs to an Istio `EnvoyFilter` for outgoing requests or gateways, has a matcher, belongs to a filter chain that a match selects, or has `disabled: true`. As in Envoy, rules match all HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt unless a rule names their path or method.',
  shapes: [FAULT, DELAY, ABORT, RATE_LIMIT, FIXED_LIMIT, PERCENT, HEADER, STRING, REGEX],
  recognizes: (value) => faultsIn(value).length > 0,
  convert: (report, value) => {
    const found = faultsIn(value)
    if (found.length === 0) found.push({ value, path: [], conditions: [] })
    for (const each of found) convertFilter(report, each, found.length === 1)
    for (const { value: filter, path } of manifestsOf(value, 'EnvoyFilter')) {
      const keys = Object.keys(fieldsOf(fieldsOf(filter)['spec']))
      for (const key of keys.filter((each) => /^(?:workloadSelector|targetRefs)$/.test(each))) {
        const why = 'apply the rules to the pods that it selects'
        report.note('left_out', why, [...path, 'spec', key], true)
      }
    }
  },
}

/** A setting around a filter that decides whether it acts: its path, and why rules cannot say it. */
type Condition = readonly [at: Path, why: string]

interface FoundFilter extends Item {
  readonly conditions: readonly Condition[]
}

const MATCHER_KEY = /^(?:xds_?)?matcher$/i
const CHAIN_KEY = /^filter_?chain_?match(?:er)?$/i

/** Finds the filters of a configuration, in order. */
function faultsIn(root: unknown): FoundFilter[] {
  const found: FoundFilter[] = []
  const visit = (value: unknown, path: Path, conditions: readonly Condition[]): void => {
    if (Array.isArray(value)) {
      value.forEach((item: unknown, index) => visit(item, [...path, index], conditions))
    } else if (isRecord(value)) {
      const type = value['@type']
      if (typeof type === 'string' && TYPE.test(type)) found.push({ value, path, conditions })
      else {
        const all = [...conditions, ...conditionsOf(value, path)]
        for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key], all)
      }
    }
  }
  visit(root, [], [])
  return found
}

function conditionsOf(around: Readonly<Record<string, unknown>>, path: Path): Condition[] {
  const matcher = Object.keys(around).find((key) => MATCHER_KEY.test(key))
  const chain = Object.keys(around).find(
    (key) => CHAIN_KEY.test(key) && Object.keys(fieldsOf(around[key])).length > 0,
  )
  const { context } = 'applyTo' in around ? fieldsOf(around['match']) : {}
  return [
    ...(context === 'SIDECAR_OUTBOUND' || context === 'GATEWAY'
      ? [
          [
            [...path, 'match', 'context'],
            'the filter acts on requests other than those that a pod receives',
          ] as const,
        ]
      : []),
    ...(around['disabled'] === true
      ? [[[...path, 'disabled'], 'the filter is disabled'] as const]
      : []),
    ...(matcher === undefined
      ? []
      : [[[...path, matcher], 'a matcher selects the calls; complete `match`'] as const]),
    ...(chain === undefined
      ? []
      : [[[...path, chain], 'the filter acts on some connections only'] as const]),
  ]
}

function convertFilter(
  report: Report,
  { value, path, conditions }: FoundFilter,
  isOnly: boolean,
): void {
  const filter = new Entry(report, { value, path }, FAULT, 'camelCase or snake_case')
  const route = path.findIndex((key) => /^typed_?per_?filter_?config$/i.test(String(key)))
  if (route >= 0) {
    const why = 'the filter applies to one route; complete `match` with its path'
    report.note('left_out', why, path.slice(0, route + 1), true)
    filter.doubts.push(why)
  }
  for (const [at, why] of conditions) {
    report.note('left_out', why, at, true)
    filter.doubts.push(why)
  }
  const match = matchOf(filter)
  const most = filter.has('max_active_faults')
    ? filter.amount('max_active_faults', 0, { min: 1, max: 1_000_000 })
    : undefined
  if (isOnly && most !== undefined) report.file.maxActive = most
  const own = isOnly || most === undefined ? {} : { maxActive: most }
  const add = (name: string, from: Entry<string>, percent: object, fault: object): void =>
    report.rule(from, name, { match, ...percent, ...own, faults: [fault] })
  const delay = filter.child('delay', DELAY)
  const ms = delay?.duration('fixed_delay')
  if (delay !== undefined && ms !== undefined) {
    add('envoy-delay', delay, fractional(delay), { delay: fixedDelay(ms) })
  }
  const abort = filter.child('abort', ABORT)
  if (abort?.has('http_status')) {
    const status = abort.amount('http_status', 0, { min: 200, max: 599 })
    add('envoy-abort', abort, fractional(abort), { abort: { status } })
  }
  const rate = filter.child('response_rate_limit', RATE_LIMIT)
  const kib = rate?.part('fixed_limit', FIXED_LIMIT)?.amount('limit_kbps', undefined, { min: 1 })
  if (rate !== undefined && kib !== undefined) {
    add('envoy-throttle', rate, fractional(rate), { throttle: { rate: `${Math.trunc(kib)}KiB` } })
  }
}

const DENOMINATORS = new Map([
  ['HUNDRED', 100],
  ['TEN_THOUSAND', 10_000],
  ['MILLION', 1_000_000],
])

function fractional(fault: Entry<'percentage'>): object {
  const given = fault.part('percentage', PERCENT)
  if (given === undefined) return { percent: 0 }
  const name = given.text('denominator', 'HUNDRED')
  const denominator = DENOMINATORS.get(name)
  if (denominator === undefined) {
    const known = [...DENOMINATORS.keys()].join(', ')
    given.report.problem('invalid_value', `must be one of ${known}`, given.at('denominator'))
  }
  const numerator = given.amount('numerator', 0, { min: 0, max: 4_294_967_295 })
  return percentOf(Math.min(100, (numerator * 100) / (denominator ?? 100)))
}

function matchOf(filter: FaultEntry): HttpMatch {
  const parts = filter.parts('headers', HEADER).flatMap(headerMatch)
  const nodes = filter.texts('downstream_nodes')
  if (nodes.length > 0) {
    const value = nodes.length === 1 ? nodes[0] : { regex: `^(?:${nodes.map(escaped).join('|')})$` }
    parts.push({ headers: { [NODE_HEADER]: value } })
  }
  return exchanges(parts)
}

function headerMatch(header: HeaderEntry): readonly HttpMatch[] {
  const name = header.text('name').toLowerCase()
  const isInverted = header.flag('invert_match', false)
  const test = testOf(header)
  if (name === ':method') {
    if (test === undefined) {
      const isPresent = header.flag('present_match', true) !== isInverted
      if (!isPresent) header.doubt('name', 'every request has a method, so this matches none')
      return []
    }
    return [{ http: { method: isInverted ? { not: asName(test) } : asName(test) } }]
  }
  if (name === ':path') {
    const isPrefix = test?.how === 'prefix' && !test.text.includes('?') && !isInverted
    if (test !== undefined && isPrefix) return [{ http: { path: asName(test) } }]
    header.doubt('name', 'rules compare the path without the query, which `:path` includes')
    return []
  }
  if (name.startsWith(':') && name !== ':authority') {
    header.doubt('name', 'HTTP/1.1 has no such header')
    return []
  }
  const key = name === ':authority' ? 'host' : name
  if (test === undefined) {
    const isPresent = header.flag('present_match', true) !== isInverted
    return [{ headers: { [key]: isPresent ? { present: true } : { absent: true } } }]
  }
  if (!isInverted) return [headerIs(key, test)]
  return [{ headers: { [key]: { present: true, not: asHeader(test) } } }]
}

const STRINGS = ['exact', 'prefix', 'suffix', 'contains'] as const

/** Returns the comparison of a header; undefined for one that must only be present. */
function testOf(header: HeaderEntry): TextTest | undefined {
  const direct = STRINGS.find((key) => header.has(`${key}_match`))
  if (direct !== undefined) return { how: direct, text: header.text(`${direct}_match`) }
  const regex = header.part('safe_regex_match', REGEX)
  if (regex !== undefined) return regexTest(regex)
  const string = header.part('string_match', STRING)
  if (string === undefined) return undefined
  const how = STRINGS.find((key) => string.has(key))
  const ignoreCase = string.flag('ignore_case', false)
  if (how !== undefined) return { how, text: string.text(how), ignoreCase }
  const inner = string.part('safe_regex', REGEX)
  return inner && regexTest(inner)
}

function regexTest(matcher: Entry<'regex' | 'google_re2'>): TextTest {
  return { how: 'regex', text: matcher.wholeRegex('regex', matcher.text('regex')) ?? '' }
}
