import * as fc from 'fast-check'
import { anyFault } from './any-fault.ts'

/** The matches of the rules; none of them matches calls of `free` or paths under `/free`. */
const anyMatch = fc.constantFrom<object>(
  { tool: 'hit' },
  { tool: 'h*' },
  { tool: ['hit', 'hint'], headers: { 'x-hit': 'yes' } },
  { method: ['tools/call', 'initialize'], headers: { 'x-hit': 'yes' } },
  { method: 'tools/list' },
  { method: '*', headers: { 'x-hit': 'yes' } },
  { resource: 'file:///*' },
  { transport: 'http+sse', tool: 'hit' },
  { transport: 'streamable-http', tool: 'hit' },
  { http: { path: '/page' } },
  { http: { method: ['POST', 'GET'] }, headers: { 'x-hit': 'yes' } },
  { http: { path: '*', status: '5xx' }, headers: { 'x-hit': 'yes' } },
)

const anyShare = fc.oneof(
  { weight: 3, arbitrary: fc.constant<object>({}) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 100 }).map((percent) => ({ percent })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<object>(
      { first: 2 },
      { after: 1 },
      { every: 2 },
      { times: 1 },
      { percent: 50, stickyBy: 'args' },
      { percent: 50, stickyBy: 'session' },
      { burst: { rate: '30%', length: 2 } },
      { pods: '100%' },
      { ramp: { to: '100%', over: '1ms' } },
    ),
  },
)

/** Read rather than written: an object with a key of that name looks like a promise. */
const STOP = JSON.parse('{"then":"stop"}') as object

const anyManner = fc.constantFrom<object>({}, {}, {}, { marker: false }, { dryRun: true }, STOP, {
  maxActive: 1,
})

const anyRule = fc.record({
  match: anyMatch,
  share: anyShare,
  manner: anyManner,
  faults: fc.array(anyFault, { minLength: 1, maxLength: 3 }),
})

/** Any rules file, as JSON. */
export const anyRules: fc.Arbitrary<object> = fc
  .record({
    seed: fc.nat(),
    maxActive: fc.constantFrom(100, 100, 1),
    rules: fc.array(anyRule, { minLength: 1, maxLength: 5 }),
  })
  .map(({ rules, ...file }) => ({
    ...file,
    rules: rules.map(({ match, share, manner, faults }, index) => ({
      name: `r${index}`,
      match,
      ...share,
      ...manner,
      faults,
    })),
  }))
