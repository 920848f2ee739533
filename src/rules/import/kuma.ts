import { isRecord, textOf } from '../../base/values.ts'
import type { Converter } from './converter.ts'
import { Entry } from './entry.ts'
import { aside, leftOut, limit, shape, to } from './fields.ts'
import { EVERY_EXCHANGE } from './http-match.ts'
import { MANIFEST_FIELDS, manifestsOf, nameOf } from './manifest.ts'
import type { Item, Report } from './report.ts'
import { fixedDelay, percentOf } from './values.ts'

const KIND = 'MeshFaultInjection'
const PERCENTAGE = to('`percent`')
const REFERENCE = to('nothing for `kind: Mesh` alone; otherwise, the rules are disabled')

const POLICY = shape('`MeshFaultInjection`', {
  ...MANIFEST_FIELDS,
  type: aside('names the kind, in the universal format'),
  name: to('prefix of rule names, in the universal format'),
  mesh: leftOut('apply the rules to pods of this mesh'),
  labels: aside('unrelated to faults'),
  spec: to('`rules`'),
})
const SPEC = shape('`spec`', {
  targetRef: REFERENCE,
  from: to('`rules`, in the same order'),
  to: leftOut('faults of outgoing requests; rules have `match.outbound`'),
  rules: to('`rules`, in the same order'),
})
const FROM = shape('each of `from`', { targetRef: REFERENCE, default: to('`rules`') })
const INBOUND = shape('each of `rules`', {
  matches: limit('a sidecar cannot determine the identity of its caller'),
  default: to('`rules`'),
})
const CONF = shape('`default`', { http: to('`rules`, in the same order') })
const FAULT = shape('each of `http`', {
  delay: to('a rule with `delay`'),
  abort: to('a rule with `abort`'),
  responseBandwidth: to('a rule with `throttle`'),
})
const ABORT = shape('`abort`', { httpStatus: to('`status`, from 200'), percentage: PERCENTAGE })
const DELAY = shape('`delay`', { value: to('`fixed`'), percentage: PERCENTAGE })
const BANDWIDTH = shape('`responseBandwidth`', {
  limit: to('`rate`: Kuma passes the number of kbps to Envoy, which reads it as KiB per second'),
  percentage: PERCENTAGE,
})

const UNITS: Readonly<Record<string, number>> = { kbps: 1, Mbps: 1000, Gbps: 1_000_000 }

export const KUMA: Converter = {
  source: 'a MeshFaultInjection of Kuma',
  about:
    'The file can be in the Kubernetes format or the universal format. As in Kuma, the faults of a list are sampled one after the other. Rules match all HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt.',
  shapes: [POLICY, SPEC, FROM, INBOUND, CONF, FAULT, DELAY, ABORT, BANDWIDTH],
  recognizes: (value) => policiesIn(value).length > 0,
  convert: (report, value) => {
    for (const each of policiesIn(value)) {
      const policy = new Entry(report, each, POLICY)
      const name = nameOf(policy.raw('metadata'), textOf(policy.raw('name')) ?? 'kuma')
      const spec = policy.part('spec', SPEC)
      if (spec === undefined) continue
      aboutMesh(spec, 'a sidecar cannot identify the targets of a mesh; name pods with `podLabels`')
      for (const from of spec.children('from', FROM)) {
        aboutMesh(from, 'a sidecar cannot identify the service of its caller')
        convertConf(report, from, name)
      }
      for (const inbound of spec.children('rules', INBOUND)) convertConf(report, inbound, name)
    }
  },
}

function policiesIn(value: unknown): readonly Item[] {
  return isRecord(value) && value['type'] === KIND
    ? [{ value, path: [] }]
    : manifestsOf(value, KIND)
}

function aboutMesh(entry: Entry<'targetRef'>, why: string): void {
  const reference = entry.raw('targetRef')
  const isMesh =
    isRecord(reference) &&
    reference['kind'] === 'Mesh' &&
    Object.keys(reference).every((key) => key === 'kind' || key === 'name')
  if (reference !== undefined && !isMesh) entry.doubt('targetRef', why)
}

function convertConf(report: Report, entry: Entry<'default'>, name: string): void {
  const match = EVERY_EXCHANGE
  const add = (from: Entry<'percentage'>, kind: string, parameters: object): void =>
    report.rule(from, `${name}-${kind}`, {
      match,
      ...percentOf(from.amount('percentage', undefined, { min: 0, max: 100 })),
      faults: [{ [kind]: parameters }],
    })
  for (const fault of entry.part('default', CONF)?.children('http', FAULT) ?? []) {
    const delay = fault.child('delay', DELAY)
    const abort = fault.child('abort', ABORT)
    const bandwidth = fault.child('responseBandwidth', BANDWIDTH)
    if (delay !== undefined) add(delay, 'delay', fixedDelay(delay.duration('value') ?? 0))
    if (abort !== undefined) {
      add(abort, 'abort', { status: abort.number('httpStatus', undefined, { min: 200, max: 599 }) })
    }
    if (bandwidth !== undefined) add(bandwidth, 'throttle', { rate: rateOf(bandwidth) })
  }
}

function rateOf(bandwidth: Entry<'limit' | 'percentage'>): string {
  const [, number, unit = ''] = /^(\d{1,9}) ?([kMG]bps)$/.exec(bandwidth.text('limit')) ?? []
  if (number === undefined) {
    bandwidth.report.problem(
      'invalid_value',
      'must be a rate such as 50Mbps',
      bandwidth.at('limit'),
    )
  }
  bandwidth.changed('limit', 'read as KiB per second, as in the Envoy that Kuma uses')
  return `${Number(number ?? 1) * (UNITS[unit] ?? 1)}KiB`
}
