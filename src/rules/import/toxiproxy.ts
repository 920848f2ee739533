import { isRecord } from '../../base/values.ts'
import { type Converter, convertKind, kind, type Kinds, shapesOf, typeOf } from './converter.ts'
import { Entry } from './entry.ts'
import { aside, leftOut, shape, to } from './fields.ts'
import { EVERY_EXCHANGE } from './http-match.ts'
import type { Item, Report } from './report.ts'
import { fixedDelay, msText, sharedBy } from './values.ts'

const NOT_NEGATIVE = { min: 0 }
/** The most pieces in a second: pauses are of whole milliseconds. */
const MOST_PIECES = 1000
const LONGEST = 3_600_000

const PROXY = shape('the proxy', {
  name: to('prefix of rule names'),
  listen: aside('use `squall run --listen`'),
  upstream: aside('use `squall run --upstream`'),
  enabled: to('a rule with `reset` if `false`'),
  toxics: to('`rules`, in the same order'),
  Logger: aside('unrelated to faults'),
})
const TOXIC = shape('each toxic', {
  name: to('part of the rule name'),
  type: to('the fault'),
  stream: to('the direction of the fault: `downstream` is the response, `upstream` the request'),
  toxicity: to('`probability` of requests instead of connections'),
  attributes: to('the parameters of the fault'),
})

/** Returns the faults for requests or responses; none for what rules cannot do to them. */
type Faults = (ofRequest: boolean) => readonly object[]

const KINDS: Kinds<Faults> = {
  latency: kind(
    shape('`latency`', {
      latency: to('`delay.fixed`, once for each response or request'),
      jitter: to('`delay.jitter`'),
    }),
    (toxic) => {
      const jitter = toxic.number('jitter', 0, NOT_NEGATIVE)
      const delay = {
        ...fixedDelay(toxic.number('latency', 0, NOT_NEGATIVE)),
        ...(jitter > 0 && { jitter: msText(jitter) }),
      }
      return (ofRequest) => [{ delay: ofRequest ? delay : { ...delay, at: 'response' } }]
    },
  ),
  bandwidth: kind(shape('`bandwidth`', { rate: to('`throttle.rate`, in kB') }), (toxic) => {
    const rate = `${Math.trunc(toxic.number('rate', 0, NOT_NEGATIVE))}kB`
    return (ofRequest) => [{ throttle: ofRequest ? { rate, direction: 'request' } : { rate } }]
  }),
  slow_close: kind(
    shape('`slow_close`', { delay: leftOut('the end of a connection is not delayed') }),
    () => () => [],
  ),
  timeout: kind(
    shape('`timeout`', {
      timeout: to('`hang.for`, then `reset` with `how: fin`; for 0, `hang` or a `delay` of 1h'),
    }),
    (toxic) => {
      const ms = toxic.number('timeout', 0, NOT_NEGATIVE)
      return (ofRequest) => {
        const end = ofRequest ? { how: 'fin' } : { at: 'response', how: 'fin' }
        if (ms > 0) return [{ hang: { for: msText(ms) } }, { reset: end }]
        return [ofRequest ? { hang: {} } : { delay: { ...fixedDelay(LONGEST), at: 'response' } }]
      }
    },
  ),
  reset_peer: kind(
    shape('`reset_peer`', { timeout: to('a `delay` before the `reset`') }),
    (toxic) => {
      const ms = toxic.number('timeout', 0, NOT_NEGATIVE)
      const wait = ms > 0 ? [{ delay: fixedDelay(ms) }] : []
      return (ofRequest) => [...wait, { reset: ofRequest ? {} : { at: 'response' } }]
    },
  ),
  slicer: kind(
    shape('`slicer`', {
      average_size: to('`throttle.chunk`'),
      size_variation: leftOut('all pieces have the same size'),
      delay: to('`throttle.rate`: one piece per delay; larger pieces if the delay is below 1 ms'),
    }),
    (toxic) => {
      const chunk = Math.max(1, Math.trunc(toxic.number('average_size', 0, NOT_NEGATIVE)))
      const microseconds = toxic.number('delay', 0, NOT_NEGATIVE)
      if (microseconds === 0) {
        toxic.leftOut('average_size', 'without `delay`, the pieces follow each other at once')
        return () => []
      }
      const rate = Math.max(1, Math.round((chunk * 1_000_000) / microseconds))
      const piece = Math.max(chunk, Math.round(rate / MOST_PIECES))
      if (piece > chunk) toxic.changed('delay', `pieces of ${piece} bytes come at the same rate`)
      return (ofRequest) =>
        ofRequest ? [] : [{ throttle: { rate: `${rate}B`, chunk: `${piece}B` } }]
    },
  ),
  limit_data: kind(
    shape('`limit_data`', { bytes: to('`truncate.after.bytes`, for each response') }),
    (toxic) => {
      const bytes = Math.trunc(toxic.number('bytes', 0, NOT_NEGATIVE))
      return (ofRequest) => (ofRequest ? [] : [{ truncate: { after: { bytes } } }])
    },
  ),
}

export const TOXIPROXY: Converter = {
  source: 'proxies of toxiproxy',
  about:
    'The input is the response to `GET /proxies`, a list of proxies, or a single proxy. toxiproxy samples connections and acts on bytes. Imported rules sample and act on HTTP exchanges, not only MCP. Health checks, OAuth and OPTIONS requests are exempt. For a database, write a rule with `connection`. If several proxies have toxics or are disabled, all rules are disabled: enable the rules for the proxy in front of your MCP server.',
  shapes: [PROXY, TOXIC, ...shapesOf(KINDS)],
  recognizes: (value) => {
    const proxies = proxiesIn(value)
    return proxies.length > 0 && proxies.every(({ value: each }) => isProxy(each))
  },
  convert: (report, value) => {
    const proxies = proxiesIn(value).map((each) => new Entry(report, each, PROXY))
    const withFaults = proxies.filter(
      (proxy) => !proxy.flag('enabled', true) || proxy.items('toxics').some(hasFault),
    )
    for (const proxy of withFaults) {
      if (withFaults.length > 1) proxy.doubt('name', 'enable the rules of one proxy')
      convertProxy(report, proxy)
    }
  },
}

function isProxy(value: unknown): boolean {
  return isRecord(value) && 'listen' in value && 'upstream' in value
}

/** Returns false for the toxic that passes all bytes. */
function hasFault({ value }: Item): boolean {
  return typeOf(value) !== 'noop'
}

function proxiesIn(value: unknown): readonly Item[] {
  if (Array.isArray(value))
    return value.map((each: unknown, index) => ({ value: each, path: [index] }))
  if (!isRecord(value)) return []
  if (isProxy(value)) return [{ value, path: [] }]
  return Object.entries(value).map(([name, each]) => ({ value: each, path: [name] }))
}

function convertProxy(report: Report, proxy: Entry<keyof typeof PROXY.fields>): void {
  const name = proxy.text('name')
  const match = EVERY_EXCHANGE
  if (!proxy.flag('enabled', true)) {
    proxy.changed('enabled', 'requests are reset; connections are not refused')
    report.rule(proxy, `${name}-down`, { match, faults: [{ reset: {} }] })
  }
  for (const toxic of proxy.children('toxics', TOXIC)) {
    const type = toxic.text('type')
    if (type === 'noop') continue
    const stream = toxic.text('stream', 'downstream')
    const attributes = { value: toxic.raw('attributes') ?? {}, path: toxic.at('attributes') }
    const made = convertKind(KINDS, type, toxic, attributes)
    if (stream !== 'upstream' && stream !== 'downstream') {
      report.problem('invalid_value', 'must be upstream or downstream', toxic.at('stream'))
    }
    if (made === undefined) continue
    const faults = made.result(stream === 'upstream')
    if (faults.length === 0) {
      toxic.leftOut(
        'type',
        `rules cannot apply this to a ${stream === 'upstream' ? 'request' : 'response'}`,
      )
      continue
    }
    const probability = toxic.number('toxicity', 1, { min: 0, max: 1 })
    if (probability < 1) toxic.changed('toxicity', 'samples requests, not connections')
    const keys = { match, ...sharedBy(probability), faults }
    report.rule(made.entry, `${name}-${toxic.text('name', `${type}_${stream}`)}`, keys)
  }
}
