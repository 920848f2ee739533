import { isUtf8 } from 'node:buffer'
import { quoted } from '../../base/text/foreign-text.ts'
import { fieldsOf, textOf } from '../../base/values.ts'
import type { Converter } from './converter.ts'
import { Entry } from './entry.ts'
import { leftOut, limit, shape, to } from './fields.ts'
import { exchanges, type HttpMatch } from './http-match.ts'
import { itemsOf, MANIFEST_FIELDS, manifestsOf, nameOf } from './manifest.ts'
import type { Report } from './report.ts'
import { fixedDelay, msText } from './values.ts'

const KIND = 'HTTPChaos'
const REQUESTS_STAY = leftOut('rules cannot change the target or headers of a request')
const LABELS_ONLY = limit('rules select pods by exact labels')

const CHAOS = shape('`HTTPChaos`', { ...MANIFEST_FIELDS, spec: to('a rule') })
const SPEC = shape('`spec`', {
  selector: to('`match.podLabels`'),
  mode: to('nothing for `all`; `pods` for `fixed-percent`; for other modes, the rule is disabled'),
  value: to('`pods`'),
  target: to('`at: response` for `Response`'),
  port: leftOut('rules cannot match the server port'),
  path: to('`match.http.path`'),
  method: to('`match.http.method`'),
  code: to('`match.http.status`'),
  request_headers: to('`match.headers`'),
  response_headers: limit('rules cannot match response headers'),
  abort: to('`reset`'),
  delay: to('`delay.fixed`'),
  replace: to('`abort`, for a status'),
  patch: leftOut('`rewrite` can change individual members of a message'),
  duration: to('`for`'),
  tls: leftOut('`squall run` has flags for TLS'),
  remoteCluster: leftOut('apply the rules in that cluster'),
})
const SELECTOR = shape('`selector`', {
  namespaces: leftOut('apply the rules in these namespaces'),
  labelSelectors: to('`match.podLabels`'),
  expressionSelectors: LABELS_ONLY,
  annotationSelectors: LABELS_ONLY,
  fieldSelectors: LABELS_ONLY,
  nodeSelectors: LABELS_ONLY,
  podPhaseSelectors: LABELS_ONLY,
  nodes: LABELS_ONLY,
  pods: LABELS_ONLY,
})
const REPLACE = shape('`replace`', {
  code: to('`abort.status` with `at: response`'),
  body: to('`abort.body`, together with `code`'),
  headers: to('`abort.headers`, together with `code`'),
  path: REQUESTS_STAY,
  method: REQUESTS_STAY,
  queries: REQUESTS_STAY,
})

type SpecEntry = Entry<keyof typeof SPEC.fields>

export const CHAOS_MESH: Converter = {
  source: 'an HTTPChaos of Chaos Mesh',
  about:
    'Each object becomes a rule, with its faults in Chaos Mesh order: abort, delay, replace. Rules match all HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt unless a rule names their path or method. Squall does not convert other Chaos Mesh objects.',
  shapes: [CHAOS, SPEC, SELECTOR, REPLACE],
  recognizes: (value) => manifestsOf(value, KIND).length > 0,
  convert: (report, value) => {
    for (const each of manifestsOf(value, KIND)) {
      const chaos = new Entry(report, each, CHAOS)
      const spec = chaos.part('spec', SPEC)
      if (spec !== undefined) convertSpec(report, spec, nameOf(chaos.raw('metadata'), 'chaos-mesh'))
    }
    for (const { value: item, path } of itemsOf(value)) {
      const { kind, apiVersion } = fieldsOf(item)
      if (kind === KIND || !textOf(apiVersion)?.startsWith('chaos-mesh.org/')) continue
      report.note('left_out', `is ${quoted(String(kind), 40)}; only ${KIND} is converted`, path)
    }
  },
}

function convertSpec(report: Report, spec: SpecEntry, name: string): void {
  const faults = faultsOf(spec)
  const match = matchOf(spec)
  const pods = podsOf(spec)
  const ms = spec.duration('duration')
  if (faults.length === 0) {
    report.note('left_out', 'contains no fault that rules support', spec.path)
    return
  }
  const keys = { match, ...(ms !== undefined && { for: msText(ms) }), ...pods, faults }
  report.rule(spec, name, keys)
}

function faultsOf(spec: SpecEntry): readonly object[] {
  const target = spec.text('target')
  if (target !== 'Request' && target !== 'Response') {
    spec.report.problem('invalid_value', 'must be Request or Response', spec.at('target'))
  }
  const at = target === 'Response' ? { at: 'response' } : {}
  const ms = spec.duration('delay') ?? 0
  const abort = spec.part('replace', REPLACE)
  return [
    ...(spec.flag('abort', false) ? [{ reset: at }] : []),
    ...(ms > 0 ? [{ delay: { ...fixedDelay(ms), ...at } }] : []),
    ...(abort === undefined ? [] : replacement(abort, target)),
  ]
}

/** Returns the text that a body holds as base64. */
function bodyOf(replace: Entry<keyof typeof REPLACE.fields>): string {
  const given = replace.text('body')
  const bytes = Buffer.from(given, 'base64')
  const isBase64 = unpadded(bytes.toString('base64')) === unpadded(given)
  if (!isBase64 || !isUtf8(bytes)) {
    replace.report.problem('invalid_value', 'must be base64-encoded UTF-8 text', replace.at('body'))
  }
  return bytes.toString('utf8')
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '')
}

function replacement(replace: Entry<keyof typeof REPLACE.fields>, target: string): object[] {
  if (!replace.has('code') || target !== 'Response') {
    for (const key of (['body', 'headers'] as const).filter((each) => replace.has(each)))
      replace.leftOut(key, 'replaced only together with the `code` of a response')
    if (replace.has('code')) replace.leftOut('code', 'replaced only in a response')
    return []
  }
  const status = replace.number('code', undefined, { min: 200, max: 599 })
  const headers = Object.fromEntries(replace.pairs('headers'))
  if (!replace.has('body'))
    replace.changed('code', 'without a `body`, Squall sends a short text with the status')
  const body = replace.has('body') && bodyOf(replace)
  return [
    {
      abort: {
        status,
        ...(body !== false && { body }),
        ...(Object.keys(headers).length > 0 && { headers }),
        at: 'response',
      },
    },
  ]
}

function matchOf(spec: SpecEntry): HttpMatch {
  const labels = spec.part('selector', SELECTOR)?.pairs('labelSelectors') ?? []
  const headers = spec.pairs('request_headers')
  const http = {
    ...(spec.has('path') && { path: spec.text('path') }),
    ...(spec.has('method') && { method: spec.text('method') }),
    ...(spec.has('code') && { status: spec.number('code', undefined, { min: 100, max: 599 }) }),
  }
  return exchanges([
    ...(Object.keys(http).length > 0 ? [{ http }] : []),
    ...(headers.length > 0 ? [{ headers: Object.fromEntries(headers) }] : []),
    ...(labels.length > 0 ? [{ podLabels: Object.fromEntries(labels) }] : []),
  ])
}

function podsOf(spec: SpecEntry): object {
  const mode = spec.text('mode')
  if (mode === 'all') return {}
  if (mode === 'fixed-percent')
    return { pods: spec.amount('value', undefined, { min: 0, max: 100 }) }
  spec.doubt('mode', 'rules select pods by percentage or label; write `pods: 50%` or `podLabels`')
  return {}
}
