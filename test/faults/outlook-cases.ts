import { CALL_FAULTS } from './one-fault.ts'
import { accepted } from '../rules/rules-text.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'

/** A fault, and the call that it is to act on. */
export interface OutlookCase {
  readonly text: string
  readonly use: RuleSpec['faults'][number]
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly session: string | undefined
}

const PARAMS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'tools/call': { name: 'echo', arguments: { city: 'Bern', n: 5 } },
  'tools/list': {},
  initialize: { protocolVersion: '2025-11-25', capabilities: {} },
}

/** Cases that the examples do not show. */
const MORE = [
  'delay: { fixed: 1ms, at: response }',
  'delay: { fixed: 1ms, at: event }',
  'delay: { uniform: { min: 0ms, max: 1ms } }',
  'abort: { status: 503 }',
  'abort: { status: 503, at: response }',
  'abort: { rpcError: {} }',
  'abort: { rpcError: {}, at: response }',
  'abort: { toolError: lost, at: response }',
  'tools/list abort: { toolError: lost }',
  'tools/list abort: { rpcError: {} }',
  'rateLimit: {}',
  'rateLimit: { as: rpc }',
  'hang: {}',
  'hang: { for: 1ms }',
  'hang: { at: headers, for: 1ms }',
  'hang: { at: event, for: 1ms }',
  'hang: { at: event, for: 1ms, after: { bytes: 10B } }',
  'hang: { at: event, for: 1ms, after: { events: 1 } }',
  'hang: { at: event, for: 1ms, after: { events: 0 } }',
  'hang: { at: event, for: 1ms, after: { bytes: 1MiB } }',
  'reset: {}',
  'reset: { how: fin }',
  'reset: { at: response }',
  'reset: { at: stream }',
  'reset: { at: stream, after: { bytes: 5B } }',
  'reset: { at: stream, after: { bytes: 0B } }',
  'reset: { refuse: 1s }',
  'truncate: {}',
  'truncate: { framing: clean }',
  'truncate: { after: { percent: 100 } }',
  'truncate: { after: { bytes: 10B } }',
  'truncate: { after: { events: 0 } }',
  'truncate: { after: { events: 1 } }',
  'truncate: { content: { chars: 3 } }',
  'poison: {}',
  'inflate: {}',
  'inflate: { to: 1B }',
  'rewrite: {}',
  'rewrite: { set: { /nowhere/x: 1 } }',
  'rewrite: { text: { append: x } }',
  'rewrite: { in: message, set: { /result/content: [] } }',
  'rewrite: { in: message, set: { /error/code: 1 } }',
  'rewrite: { in: arguments, rename: { /city: town } }',
  'rewrite: { in: arguments, rename: { /other: town } }',
  'tools/list rewrite: { in: inputSchema, remove: [/properties] }',
  'tools/list rewrite: { in: arguments, rename: { /other: town } }',
  'corrupt: {}',
  'corrupt: { mode: bitflip }',
  'corrupt: { mode: empty }',
  'corrupt: { mode: invalid-utf8, contentType: text/plain }',
  'throttle: {}',
  'throttle: { direction: request, rate: 1MiB }',
  'throttle: { direction: both, rate: 1MiB }',
  'tools/list catalog: { hide: "*" }',
  'tools/list catalog: { hide: nobody }',
  'tools/list catalog: { add: [{ name: ghost }] }',
  'tools/list catalog: { stale: true }',
  'tools/list catalog: { cursor: invalid }',
  'tools/list catalog: { cursor: loop }',
  'tools/list catalog: { notify: spurious }',
  'tools/list catalog: { notify: suppress }',
  'catalog: { hide: "*" }',
  'catalog: { notify: spurious }',
  'session: {}',
  'initialize session: { rejectInitialize: {} }',
  'initialize session: { expire: false, rejectInitialize: {} }',
  'session: { expire: false, rejectInitialize: {} }',
  'unauthorized: {}',
  'unauthorized: { status: 403 }',
  ...['drop', 'duplicate', 'reorder', 'split', 'close'].flatMap((key) =>
    ['last', 'notifications', 'all', 1, 2, 9].map((choice) => {
      const more = key === 'split' ? ', pause: 1ms' : ''
      return `stream: { ${key}: ${choice}${more} }`
    }),
  ),
  'stream: { wrongId: other }',
  'stream: { wrongId: type }',
  'replay: {}',
  'amplify: {}',
]

/** Every fault as the reference page shows it, and in many other shapes. */
export function outlookCases(): readonly OutlookCase[] {
  const shown = CALL_FAULTS.flatMap(({ name, example }): OutlookCase[] => {
    if (example === undefined) return []
    const { faults } = accepted(`rules:\n${example.replace(/^(?=.)/gm, '  ')}\n`).rules[0]!
    const text = `the example of ${name}`
    return faults.flatMap((use) =>
      casesOf(text, use, name === 'catalog' ? 'tools/list' : undefined),
    )
  })
  const more = MORE.flatMap((text) => {
    const [, method, fault] = /^([a-z]+\/[a-z]+ |initialize )?(.*)$/.exec(text)!
    const { faults } = accepted(`rules: [{ name: a, faults: [{ ${fault} }] }]`).rules[0]!
    return casesOf(text, faults[0]!, method?.trim())
  })
  return [...shown, ...more]
}

function casesOf(
  text: string,
  use: OutlookCase['use'],
  method = 'tools/call',
): readonly OutlookCase[] {
  const of = { text, use, method, params: PARAMS[method]!, session: undefined }
  return use.fault === 'session'
    ? [of, { ...of, text: `${text} in a session`, session: 'session-1' }]
    : [of]
}
