import { argumentsKey, documentedDraw } from './documented-sampling.ts'
import type { Failing, ScriptedCall } from './scripted-app.ts'

/** The number of calls of each session that `limit` lets pass. */
export const BUCKET = 40
export const SEED = 20_260

/** Rules that act at once; the outcome of each call can be predicted from the seed. */
export const RULES = `
version: 1
seed: ${SEED}
maxActive: 100000
rules:
  - { name: slow, match: { tool: search }, percent: 10, stickyBy: args, faults: [delay: { fixed: 1ms }] }
  - { name: gone, match: { tool: fetch }, percent: 2, stickyBy: { header: x-sent }, faults: [reset: { at: request }] }
  - { name: busy, match: { tool: fetch }, percent: 5, stickyBy: args, faults: [abort: { status: 503 }] }
  - { name: said, match: { tool: query }, percent: 10, stickyBy: args, faults: [abort: { toolError: injected }] }
  - name: late
    match: { tool: query }
    percent: 10
    stickyBy: args
    faults: [abort: { rpcError: { message: injected }, at: response }]
  - name: limit
    match: { tool: limited }
    faults: [rateLimit: { by: session, limit: { calls: 1, per: 1d, burst: ${BUCKET} } }]
  - { name: less, match: { tool: report }, percent: 20, stickyBy: args, faults: [truncate: { content: { chars: 20 } }] }
  - name: half
    match: { tool: report }
    percent: 10
    stickyBy: args
    faults: [truncate: { after: { percent: 50 }, framing: clean }]
  - { name: lost, match: { tool: feed }, percent: 5, stickyBy: args, faults: [stream: { drop: last }] }
  - { name: junk, match: { tool: feed }, percent: 10, stickyBy: args, faults: [corrupt: { mode: garbage }] }
  - { name: thin, match: { tool: feed }, percent: 10, stickyBy: args, faults: [throttle: { rate: 100MiB }] }
  - { name: swap, match: { tool: order }, percent: 30, faults: [rewrite: { set: { /value: injected } }] }
  - { name: stall, match: { tool: held }, percent: 50, stickyBy: { header: x-sent }, faults: [delay: { fixed: 1h }] }
`

/** The properties of a call that affect its outcome. */
export interface Setting {
  /** Several calls share the request. */
  readonly shared: boolean
  /** The value of the request's header `x-sent`. */
  readonly sent: string
  /** The number of earlier calls of the same tool in the same session. */
  readonly before: number
}

/** The predicted outcome of one call. */
export interface Foretold {
  /** Each as `rule/fault`. */
  readonly injected: readonly string[]
  /** Those of them that leave no marker on the wire. */
  readonly unmarked: readonly string[]
  readonly outcome: string
  readonly origin: 'real' | 'injected'
  /** The result that the client sees. */
  readonly sees: string
  readonly executed: boolean
}

const OUTCOMES = { tool: 'tool_error', rpc: 'rpc_error', http: 'http_error' } as const
const SEEN = { tool: 'tool error: real', rpc: 'error: real', http: 'status 500' } as const

/** Tells from the seed alone what becomes of a call. */
export function foretell(call: ScriptedCall, setting: Setting): Foretold {
  const { name, arguments: args } = call.params
  const { shared, sent, before } = setting
  const key = argumentsKey({ ...args })
  const matches = (rule: string, percent: number, by = key): boolean =>
    documentedDraw(String(SEED), rule, by) < percent / 100
  const real = ofTheApp(args.fail)
  switch (name) {
    case 'search':
      return matches('slow', 10) ? { ...real, injected: ['slow/delay'] } : real
    case 'fetch':
      // A rule about one call does not inject a fault that affects all calls of a batch.
      if (shared) return real
      if (matches('gone', 2, sent)) return instead('gone/reset', 'reset', 'reset', false, false)
      return matches('busy', 5) ? instead('busy/abort', 'http_error', 'status 503', false) : real
    case 'query':
      if (matches('said', 10))
        return instead('said/abort', 'tool_error', 'tool error: injected', false)
      return matches('late', 10)
        ? instead('late/abort', 'rpc_error', 'error: injected', true)
        : real
    case 'limited':
      if (shared || before < BUCKET) return real
      return instead('limit/rateLimit', 'http_error', 'status 429', false)
    case 'report':
      return report(args, real, matches('less', 20), !shared && matches('half', 10))
    case 'feed':
      return feed(
        matches('lost', 5) && args.fail !== 'http',
        matches('junk', 10),
        !shared && matches('thin', 10),
        real,
      )
    case 'order': {
      const isResult = args.fail === undefined || args.fail === 'tool'
      const isHit = isResult && matches('swap', 30, String(before + 1))
      const sees = args.fail === undefined ? 'swapped' : real.sees
      return isHit ? { ...real, injected: ['swap/rewrite'], sees } : real
    }
    default: {
      const stalled = matches('stall', 50, sent)
      const injected = stalled ? ['stall/delay'] : []
      const origin = stalled ? 'injected' : 'real'
      const left = { sees: 'nothing', outcome: 'abandoned', executed: !stalled } as const
      return { injected, unmarked: injected, origin, ...left }
    }
  }
}

function ofTheApp(fail: Failing | undefined): Foretold {
  const outcome = fail === undefined ? 'ok' : OUTCOMES[fail]
  const sees = fail === undefined ? 'fine' : SEEN[fail]
  return { injected: [], unmarked: [], outcome, origin: 'real', sees, executed: true }
}

function instead(
  marker: string,
  outcome: string,
  sees: string,
  executed: boolean,
  marked = true,
): Foretold {
  const unmarked = marked ? [] : [marker]
  return { injected: [marker], unmarked, outcome, origin: 'injected', sees, executed }
}

/**
 * A real error has too little text for `less`; one by its status stays one when its text is cut.
 */
function report(
  { fail, sse }: ScriptedCall['params']['arguments'],
  real: Foretold,
  less: boolean,
  half: boolean,
): Foretold {
  const isShort = less && fail === undefined
  const first = isShort ? ['less/truncate'] : []
  if (!half) return { ...real, injected: first, sees: isShort ? 'short' : real.sees }
  const injected = [...first, 'half/truncate']
  if (fail === 'http') return { ...real, injected }
  // The headers of a stream have been sent when the position of the cut is found.
  const unmarked = sse === true ? ['half/truncate'] : []
  return {
    ...real,
    injected,
    unmarked,
    outcome: 'incomplete',
    origin: 'injected',
    sees: 'no response',
  }
}

function feed(lost: boolean, junk: boolean, thin: boolean, real: Foretold): Foretold {
  const injected = lost ? ['lost/stream'] : junk ? ['junk/corrupt'] : []
  const all = thin ? [...injected, 'thin/throttle'] : injected
  if (injected.length === 0 || real.outcome === 'http_error') return { ...real, injected: all }
  return { ...real, injected: all, outcome: 'incomplete', origin: 'injected', sees: 'no response' }
}
