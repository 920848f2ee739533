import { isRecord } from '../../base/values.ts'
import type { Converter } from './converter.ts'
import { Entry } from './entry.ts'
import { aside, leftOut, limit, shape, to } from './fields.ts'
import {
  allOf,
  asHeader,
  asName,
  exchanges,
  EVERY_EXCHANGE,
  headerIs,
  type HttpMatch,
  type TextTest,
} from './http-match.ts'
import { MANIFEST_FIELDS, manifestsOf, nameOf } from './manifest.ts'
import type { Report } from './report.ts'
import { fixedDelay, percentOf } from './values.ts'

const KIND = 'VirtualService'
const ROUTING = aside('concerns routing')
const ABOUT_CALLER = 'a sidecar cannot identify the workload of its caller'

const SERVICE = shape('`VirtualService`', {
  ...MANIFEST_FIELDS,
  spec: to('`rules`'),
})
const SPEC = shape('`spec`', {
  hosts: leftOut('apply the rules to the pods of these hosts'),
  http: to('`rules`, in the same order; the first route that matches wins'),
  gateways: to('nothing if the list contains `mesh`; otherwise, the rules are disabled'),
  tls: leftOut('only `http` routes have faults'),
  tcp: leftOut('only `http` routes have faults'),
  exportTo: aside('concerns namespaces'),
})
const ROUTE = shape('each of `http`', {
  name: to('part of rule names'),
  match: to('`match`; several entries in `any`'),
  fault: to('a rule with `delay` and a rule with `abort`'),
  route: ROUTING,
  redirect: ROUTING,
  delegate: ROUTING,
  rewrite: ROUTING,
  timeout: ROUTING,
  retries: ROUTING,
  mirror: ROUTING,
  mirrorPercent: ROUTING,
  mirrorPercentage: ROUTING,
  corsPolicy: ROUTING,
  headers: ROUTING,
  rateLimit: leftOut('not a fault; rules have `rateLimit` with `limit`'),
})
const MATCH = shape('each of `match`', {
  name: aside('names the match'),
  uri: to('`http.path`'),
  method: to('`http.method`'),
  authority: to('`headers.host`'),
  headers: to('`headers`, and `tool` for `mcp-name`; an empty comparison becomes `present`'),
  withoutHeaders: to('`not` with `headers`'),
  ignoreUriCase: to('a `regex` with `(?i)`'),
  scheme: limit('rules do not compare the scheme'),
  port: limit('rules do not compare the port'),
  queryParams: limit('rules compare the path without its query'),
  sourceLabels: limit(ABOUT_CALLER),
  sourceNamespace: limit(ABOUT_CALLER),
  gateways: limit('a sidecar cannot identify the gateway of a request'),
})
const TEXT = shape('a comparison', {
  exact: to('the text'),
  prefix: to('the text with `*`, or `prefix` of a header'),
  regex: to('`regex`, for the whole text'),
})
const FAULT = shape('`fault`', {
  delay: to('a rule with `delay`'),
  abort: to('a rule with `abort`'),
})
const SHARE = {
  percentage: to('`percent`'),
  percent: to('`percent` if `percentage` is not set; 0 if neither is set'),
}
const DELAY = shape('`fault.delay`', {
  fixedDelay: to('`fixed`'),
  exponentialDelay: leftOut('not documented by Istio; rules support `exponential`'),
  ...SHARE,
})
const ABORT = shape('`fault.abort`', {
  httpStatus: to('`status`'),
  grpcStatus: leftOut('gRPC is not supported'),
  http2Error: leftOut('HTTP/2 is not supported'),
  ...SHARE,
})
const PERCENT = shape('`percentage`', { value: to('`percent`; 0 if not set') })

type RouteEntry = Entry<keyof typeof ROUTE.fields>
type MatchEntry = Entry<keyof typeof MATCH.fields>
type TextKey = 'uri' | 'method' | 'authority'

export const ISTIO: Converter = {
  source: 'an Istio VirtualService',
  about:
    'Fields can be in camelCase or snake_case. The delay and the abort of a route are sampled independently. As in Istio, rules match all HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt unless a rule names their path or method.',
  shapes: [SERVICE, SPEC, ROUTE, MATCH, TEXT, FAULT, DELAY, ABORT, PERCENT],
  recognizes: (value) => manifestsOf(value, KIND).length > 0,
  convert: (report, value) => {
    for (const each of manifestsOf(value, KIND)) {
      const service = new Entry(report, each, SERVICE, 'camelCase or snake_case')
      const spec = service.part('spec', SPEC)
      if (spec !== undefined) convertSpec(report, spec, nameOf(service.raw('metadata'), 'istio'))
    }
  },
}

function convertSpec(report: Report, spec: Entry<keyof typeof SPEC.fields>, service: string): void {
  const gateways = spec.texts('gateways')
  if (gateways.length > 0 && !gateways.includes('mesh')) {
    spec.doubt('gateways', 'a sidecar cannot identify the gateway of a request')
  }
  const before: HttpMatch[] = []
  let isUnclear = false
  let isTaken = false
  for (const [index, route] of spec.children('http', ROUTE).entries()) {
    if (report.isTooLarge) return
    if (isTaken) {
      if (route.has('fault')) route.leftOut('fault', 'an earlier route takes every request')
      continue
    }
    const match = routeMatch(route)
    // Conditions that rules do not support are doubts.
    isTaken = match === undefined || (isEvery(match) && route.doubts.length === spec.doubts.length)
    if (isUnclear) route.doubts.push('an earlier route has a condition that rules do not support')
    const rest =
      before.length === 0 ? [] : [{ not: before.length === 1 ? before[0]! : { any: [...before] } }]
    const fault = route.part('fault', FAULT)
    if (fault !== undefined) {
      const name = `${service}-${route.text('name', String(index + 1))}`
      addRules(
        report,
        route,
        fault,
        name,
        exchanges([...(match === undefined ? [] : [match]), ...rest]),
      )
    }
    isUnclear ||= route.doubts.length > spec.doubts.length
    if (match !== undefined) before.push(match)
  }
}

function addRules(
  report: Report,
  route: RouteEntry,
  fault: Entry<'delay' | 'abort'>,
  name: string,
  match: HttpMatch,
): void {
  const delay = fault.part('delay', DELAY)
  const abort = fault.part('abort', ABORT)
  const ms = delay?.duration('fixedDelay')
  if (delay !== undefined && ms !== undefined) {
    const keys = { match, ...share(delay), faults: [{ delay: fixedDelay(ms) }] }
    report.rule(route, `${name}-delay`, keys)
  }
  if (abort?.has('httpStatus')) {
    const status = abort.amount('httpStatus', 0, { min: 200, max: 599 })
    report.rule(route, `${name}-abort`, { match, ...share(abort), faults: [{ abort: { status } }] })
  }
}

function share(fault: Entry<keyof typeof SHARE>): object {
  const range = { min: 0, max: 100 }
  const given = fault.part('percentage', PERCENT)
  return percentOf(given?.amount('value', 0, range) ?? fault.amount('percent', 0, range))
}

/** Returns the condition of a route; undefined for one that takes everything. */
function routeMatch(route: RouteEntry): HttpMatch | undefined {
  const matches = route.parts('match', MATCH).map(matchOf)
  return matches.length < 2 ? matches[0] : { any: matches }
}

/** Returns true for a condition that is, or has as an alternative, an empty one. */
function isEvery(match: HttpMatch): boolean {
  return match === EVERY_EXCHANGE || match.any?.includes(EVERY_EXCHANGE) === true
}

function matchOf(match: MatchEntry): HttpMatch {
  const ignoreCase = match.flag('ignoreUriCase', false)
  const parts: HttpMatch[] = []
  const uri = textAt(match, 'uri')
  if (uri !== undefined)
    parts.push({
      http: { path: asName({ ...uri, ignoreCase: ignoreCase && uri.how !== 'regex' }) },
    })
  const method = textAt(match, 'method')
  if (method !== undefined) parts.push({ http: { method: asName(method) } })
  const authority = textAt(match, 'authority')
  if (authority !== undefined) parts.push({ headers: { host: asHeader(authority) } })
  parts.push(...headersAt(match, 'headers'))
  parts.push(...headersAt(match, 'withoutHeaders').map((not) => ({ not })))
  return parts.length === 0 ? EVERY_EXCHANGE : allOf(parts)
}

function textAt(match: MatchEntry, key: TextKey): TextTest | undefined {
  const text = match.part(key, TEXT)
  return text && testOf(text)
}

function testOf(text: Entry<keyof typeof TEXT.fields>): TextTest | undefined {
  if (text.has('exact')) return { how: 'exact', text: text.text('exact') }
  if (text.has('prefix')) return { how: 'prefix', text: text.text('prefix') }
  if (!text.has('regex')) return undefined
  return { how: 'regex', text: text.wholeRegex('regex', text.text('regex')) ?? '' }
}

function headersAt(match: MatchEntry, key: 'headers' | 'withoutHeaders'): HttpMatch[] {
  const headers = match.raw(key)
  if (headers === undefined || !isRecord(headers)) {
    match.pairs(key)
    return []
  }
  return Object.entries(headers).map(([name, value]) => {
    const test = testOf(match.within({ value, path: [...match.at(key), name] }, TEXT))
    return test === undefined ? { headers: { [name]: { present: true } } } : headerIs(name, test)
  })
}
