import { describe, expect, it } from 'vitest'
import { type CallInjection, openInjection } from '../../src/listener/faults/call-injection.ts'
import {
  type CallState,
  count,
  move,
  originOf,
  reopen,
  repliedBy,
  respondedBy,
  restore,
} from '../../src/listener/faults/call-state.ts'
import { Stop } from '../../src/listener/faults/chain/stop.ts'
import type { Call } from '../../src/mcp/call.ts'
import type { Message } from '../../src/mcp/json-rpc.ts'
import { NO_CONTEXT } from './no-context.ts'

const CALL: Call = {
  id: 1,
  method: 'tools/call',
  name: 'echo',
  params: {},
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: undefined,
}
const OK: Message = { kind: 'result', id: 1, result: { content: [] } }
const SAME: Message = { kind: 'result', id: 1, result: { content: [], more: true } }
const TOOL_ERROR: Message = { kind: 'result', id: 1, result: { content: [], isError: true } }
const FOREIGN: Message = { kind: 'result', id: 2, result: { content: [] } }

/** A call is held while a fault holds it and its state is open. */
type Shown = CallState | 'held'

function opened(): CallInjection {
  const own = openInjection({ call: CALL }, NO_CONTEXT, new Stop())
  own.upstreamResponse = OK
  return own
}

const shown = ({ state, holders }: CallInjection): Shown =>
  state === 'open' && holders > 0 ? 'held' : state

const hold = (own: CallInjection): void => void own.holders++
const releaseHold = (own: CallInjection): void => void own.holders--
const isInjected = (own: CallInjection): boolean => originOf(own) === 'injected'

const reach: Readonly<Record<Shown, (own: CallInjection) => void>> = {
  open: () => undefined,
  held: (own) => hold(own),
  lost: (own) => {
    hold(own)
    reopen(own)
    releaseHold(own)
    own.upstreamResponse = OK
  },
  responded: (own) => respondedBy(own, OK),
  replaced: (own) => move(own, 'replaces'),
  cut: (own) => move(own, 'cuts'),
}

/** In the order of the states above. */
const cases: readonly (readonly [string, (own: CallInjection) => void, readonly Shown[]])[] = [
  [
    'the response of the upstream',
    (own) => respondedBy(own, OK),
    ['responded', 'responded', 'responded', 'responded', 'replaced', 'replaced'],
  ],
  [
    'a changed response with the same outcome',
    (own) => respondedBy(own, SAME),
    ['responded', 'responded', 'responded', 'responded', 'replaced', 'replaced'],
  ],
  ['another outcome', (own) => respondedBy(own, TOOL_ERROR), allOf('replaced')],
  ['a response with another id', (own) => respondedBy(own, FOREIGN), allOf('replaced')],
  ['no message', (own) => respondedBy(own, undefined), allOf('replaced')],
  ['a reply of a fault', (own) => move(own, 'replaces'), allOf('replaced')],
  [
    'changed bytes',
    (own) => move(own, 'changes'),
    ['cut', 'cut', 'cut', 'replaced', 'replaced', 'cut'],
  ],
  ['a cut', (own) => move(own, 'cuts'), ['cut', 'cut', 'cut', 'responded', 'replaced', 'cut']],
  [
    'a reply that could not be sent',
    (own) => void repliedBy(own, () => false),
    ['open', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its connection',
    (own) => reopen(own),
    ['open', 'lost', 'lost', 'open', 'lost', 'lost'],
  ],
  [
    'the end of its connection while a fault holds it',
    (own) => {
      hold(own)
      reopen(own)
      releaseHold(own)
    },
    allOf('lost'),
  ],
  [
    'the held response on another connection',
    (own) => restore(own),
    ['open', 'held', 'open', 'responded', 'responded', 'open'],
  ],
  [
    'a fault that begins to hold it',
    (own) => hold(own),
    ['held', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'another fault that holds it and lets go',
    (own) => {
      hold(own)
      releaseHold(own)
    },
    ['open', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its faults',
    (own) => count(own),
    ['open', 'cut', 'cut', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its faults while one holds it',
    (own) => {
      hold(own)
      count(own)
    },
    ['cut', 'cut', 'cut', 'replaced', 'replaced', 'cut'],
  ],
]

describe.each(cases)('a call, by %s', (_, act, after) => {
  it.each(Object.keys(reach).map((from, at) => [from as Shown, after[at]!] as const))(
    'goes from %s to %s',
    (from, to) => {
      const own = opened()
      reach[from](own)
      expect(shown(own)).toBe(from)
      act(own)
      expect(shown(own)).toBe(to)
      if (to !== 'open' && to !== 'responded') expect(isInjected(own)).toBe(true)
    },
  )
})

it.each(Object.keys(reach) as Shown[])('a call that is %s counts as its state says', (state) => {
  const own = opened()
  reach[state](own)
  expect(isInjected(own)).toBe(state !== 'open' && state !== 'responded')
  hold(own)
  expect(isInjected(own)).toBe(true)
  releaseHold(own)
  expect(isInjected(own)).toBe(state !== 'open' && state !== 'responded')
  own.edits = [(text) => text]
  expect(isInjected(own)).toBe(true)
})

it('a held call is open again when the last of its faults lets go', () => {
  const own = opened()
  hold(own)
  hold(own)
  releaseHold(own)
  expect(shown(own)).toBe('held')
  releaseHold(own)
  expect([shown(own), isInjected(own)]).toEqual(['open', false])
})

function allOf(state: Shown): readonly Shown[] {
  return [state, state, state, state, state, state]
}
