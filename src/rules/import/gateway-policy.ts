import { fieldsOf, isRecord, textOf } from '../../base/values.ts'
import type { Converter } from './converter.ts'
import { Entry } from './entry.ts'
import { aside, leftOut, limit, shape, to } from './fields.ts'
import { allOf, EVERY_EXCHANGE, exchanges, headerIs, type HttpMatch } from './http-match.ts'
import { manifestsOf, nameOf } from './manifest.ts'
import type { Item, Report } from './report.ts'
import { fixedDelay, percentOf, prefixName } from './values.ts'
import { exactName } from '../match/text-match.ts'

const PERCENTAGE = to('`percent`')
const SPEC = shape('`spec`', {
  targetRefs: to('`match`; several entries in `any`'),
  targetRef: to('`match`, like an entry of `targetRefs`'),
  targetSelectors: limit('a sidecar cannot read route labels'),
  faultInjection: to('`rules`'),
})
const REF = shape('each of `targetRefs`', {
  group: aside('names the kind'),
  kind: to('`Gateway`: all exchanges; `HTTPRoute`: the matches of the route in the same file'),
  name: to('the `HTTPRoute` to read; if it is not in the file, the rules are disabled'),
  namespace: aside('concerns namespaces'),
  sectionName: limit('a sidecar cannot identify listeners; rules of a route are read together'),
})
const MATCH = shape('each of `matches` of an `HTTPRoute`', {
  path: to('`http.path`'),
  method: to('`http.method`'),
  headers: to('`headers`, and `tool` for `mcp-name`'),
  queryParams: limit('rules compare the path without its query'),
})
const TEST = shape('`path`, and each of `headers`', {
  name: to('the name of a header'),
  type: to('the kind of comparison'),
  value: to('the text'),
})
const FAULT = shape('`faultInjection`', {
  delay: to('a rule with `delay`'),
  abort: to('a rule with `abort`'),
  responseRateLimit: to('a rule with `throttle`'),
  maxActiveFaults: to('`maxActive` of each rule, unless it is 0'),
  disable: limit('the policy disables the faults of others'),
})
const DELAY = shape('`delay`', { fixedDelay: to('`fixed`'), percentage: PERCENTAGE })
const ABORT = shape('`abort`', {
  httpStatus: to('`status`'),
  grpcStatus: leftOut('gRPC is not supported'),
  percentage: PERCENTAGE,
})
const RATE = shape('`responseRateLimit`', { kbitsPerSecond: to('`rate`'), percentage: PERCENTAGE })

/** Returns the converter of policies of a gateway on Envoy, whose faults have the same fields. */
function policies(kind: string, group: string, source: string): Converter {
  const found = (value: unknown): readonly Item[] =>
    manifestsOf(value, kind).filter((policy) =>
      textOf(fieldsOf(policy.value)['apiVersion'])?.startsWith(`${group}/`),
    )
  return {
    source,
    about:
      'Squall reads the targets and faults of the policy, and the matches of an `HTTPRoute` in the same file, but ignores the precedence of other routes. Faults are sampled independently. Rules match all HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt unless a rule names their path or method.',
    shapes: [SPEC, REF, MATCH, TEST, FAULT, DELAY, ABORT, RATE],
    recognizes: (value) => found(value).length > 0,
    convert: (report, value) => {
      for (const { value: policy, path } of found(value)) {
        const { spec, metadata } = fieldsOf(policy)
        // Other fields of a policy concern neither faults nor targets.
        const own = ([key]: [string, unknown]) => key in SPEC.fields || key.startsWith('target')
        const fields = Object.fromEntries(Object.entries(fieldsOf(spec)).filter(own))
        const entry = new Entry(report, { value: fields, path: [...path, 'spec'] }, SPEC)
        const match = matchOf(entry, manifestsOf(value, 'HTTPRoute'))
        const fault = entry.part('faultInjection', FAULT)
        if (fault !== undefined) addRules(report, fault, nameOf(metadata, 'gateway'), match)
      }
    },
  }
}

const EG = ['BackendTrafficPolicy', 'gateway.envoyproxy.io'] as const
export const ENVOY_GATEWAY = policies(...EG, 'a BackendTrafficPolicy of Envoy Gateway')
const KG = ['TrafficPolicy', 'gateway.kgateway.dev'] as const
export const KGATEWAY = policies(...KG, 'a TrafficPolicy of kgateway')

function addRules(
  report: Report,
  fault: Entry<keyof typeof FAULT.fields>,
  name: string,
  match: HttpMatch,
): void {
  const most = fault.amount('maxActiveFaults', 0, { min: 0, max: 1_000_000 })
  const add = (from: Entry<'percentage'>, kind: string, parameters: object): void => {
    const percent = percentOf(from.amount('percentage', 100, { min: 0, max: 100 }))
    const keys = { match, ...percent, ...(most > 0 && { maxActive: most }) }
    report.rule(from, `${name}-${kind}`, { ...keys, faults: [{ [kind]: parameters }] })
  }
  const delay = fault.part('delay', DELAY)
  if (delay !== undefined) add(delay, 'delay', fixedDelay(delay.duration('fixedDelay') ?? 0))
  const abort = fault.part('abort', ABORT)
  const status = abort?.has('httpStatus') && abort.amount('httpStatus', 0, { min: 200, max: 599 })
  if (abort !== undefined && status) add(abort, 'abort', { status })
  const rate = fault.part('responseRateLimit', RATE)
  const kbits = rate?.amount('kbitsPerSecond', undefined, { min: 1 }) ?? 0
  if (rate !== undefined) add(rate, 'throttle', { rate: `${kbits * 125}B` })
}

/** Returns the condition of all targets; what rules cannot express becomes a doubt. */
function matchOf(spec: Entry<keyof typeof SPEC.fields>, routes: readonly Item[]): HttpMatch {
  const single = spec.part('targetRef', REF) ?? []
  const refs = [...spec.parts('targetRefs', REF), single].flat()
  const matches = refs.flatMap((ref): readonly HttpMatch[] => {
    const kind = ref.text('kind')
    const name = ref.text('name')
    if (kind === 'Gateway') return [EVERY_EXCHANGE]
    const route = routes.find(({ value }) => nameOf(fieldsOf(value)['metadata'], '') === name)
    if (kind === 'HTTPRoute' && route !== undefined) return routeMatches(spec, route)
    ref.doubt('name', `complete \`match\` with those of this ${kind}, which is not in the file`)
    return []
  })
  if (matches.includes(EVERY_EXCHANGE) || matches.length === 0) return EVERY_EXCHANGE
  return exchanges(matches.length === 1 ? matches : [{ any: matches }])
}

function routeMatches(spec: Entry<string>, { value, path }: Item): readonly HttpMatch[] {
  const { rules, hostnames } = fieldsOf(fieldsOf(value)['spec'])
  const atHosts = [...path, 'spec', 'hostnames']
  if (Array.isArray(hostnames) && hostnames.length > 0)
    spec.report.note('left_out', 'apply the rules to the pods of these hosts', atHosts)
  return (Array.isArray(rules) ? rules : [{}]).flatMap((rule: unknown, index) => {
    const { matches = [{}] } = isRecord(rule) ? rule : {}
    const at = [...path, 'spec', 'rules', index, 'matches']
    const all: readonly unknown[] = Array.isArray(matches) ? matches : [matches]
    return all.map((match, n) => oneMatch(spec.within({ value: match, path: [...at, n] }, MATCH)))
  })
}

function oneMatch(match: Entry<keyof typeof MATCH.fields>): HttpMatch {
  const parts: HttpMatch[] = match.parts('headers', TEST).map((header) => {
    const text = header.text('value')
    const isExact = header.text('type', 'Exact') === 'Exact'
    const regex = isExact ? text : (header.wholeRegex('value', text) ?? '')
    return headerIs(header.text('name'), { how: isExact ? 'exact' : 'regex', text: regex })
  })
  const path = match.part('path', TEST)
  if (path !== undefined) parts.push({ http: { path: pathOf(path) } })
  if (match.has('method')) parts.push({ http: { method: match.text('method') } })
  return parts.length === 0 ? EVERY_EXCHANGE : allOf(parts)
}

function pathOf(path: Entry<'type' | 'value'>): unknown {
  const text = path.text('value', '/')
  const type = path.text('type', 'PathPrefix')
  if (type === 'Exact') return exactName(text)
  if (type !== 'PathPrefix') return { regex: path.wholeRegex('value', text) ?? '' }
  // A prefix ends at a slash.
  const whole = text.replace(/\/$/, '')
  return whole === '' ? '*' : [exactName(whole), prefixName(`${whole}/`)]
}
