import * as fc from 'fast-check'

/** The request, the upstream's response and the client's behaviour. */
export interface AnyExchange {
  readonly kind: 'call' | 'batch' | 'push' | 'page' | 'post' | 'note' | 'listen' | 'list' | 'begin'
  readonly tool: 'hit' | 'free'
  /** Ids as they are written. */
  readonly ids: readonly string[]
  readonly marked: boolean
  readonly response:
    'json' | 'chunked' | 'gzip' | 'sse' | 'sse with ids' | 'error' | 'status' | 'none'
  /** The upstream breaks off after this many pieces of the response. */
  readonly breaks: { readonly how: 'fin' | 'reset'; readonly after: number } | undefined
  /** The upstream responds otherwise than the first time. */
  readonly again?: true
  readonly leaves:
    { readonly how: 'close' | 'reset'; readonly when: 'at once' | 'head' } | undefined
}

const KINDS = [
  'call',
  'call',
  'call',
  'batch',
  'batch',
  'push',
  'page',
  'post',
  'note',
  'listen',
  'list',
  'begin',
] as const
const RESPONSES = [
  'json',
  'json',
  'chunked',
  'gzip',
  'sse',
  'sse',
  'sse with ids',
  'error',
  'status',
  'none',
] as const
const IDS = [
  '1',
  '0',
  '-7',
  '"a"',
  '""',
  '"ünï 🌧"',
  '1.5',
  '9007199254740993',
  '1e2',
  '"1"',
  '"\\u0041"',
] as const

const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const anyExchange: fc.Arbitrary<AnyExchange> = fc.record({
  kind: fc.constantFrom(...KINDS),
  tool: fc.constantFrom('hit', 'hit', 'free'),
  ids: fc.uniqueArray(fc.constantFrom(...IDS), { minLength: 4, maxLength: 4, selector: String }),
  marked: fc.boolean(),
  response: fc.constantFrom(...RESPONSES),
  breaks: seldom(
    fc.record({ how: fc.constantFrom('fin', 'reset'), after: fc.integer({ min: 0, max: 4 }) }),
  ),
  leaves: seldom(
    fc.record({ how: fc.constantFrom('close', 'reset'), when: fc.constantFrom('at once', 'head') }),
  ),
})

/** Exchanges that are made at the same time. */
export const anyTraffic: fc.Arbitrary<readonly AnyExchange[]> = fc.array(anyExchange, {
  minLength: 1,
  maxLength: 8,
})
