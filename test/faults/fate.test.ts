import { describe, expect, it } from 'vitest'
import { Fate, type FateState } from '../../src/listener/faults/fate.ts'
import type { Call } from '../../src/mcp/call.ts'
import type { Message } from '../../src/mcp/json-rpc.ts'

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

const reach: Readonly<Record<FateState, (fate: Fate) => void>> = {
  open: () => undefined,
  held: (fate) => fate.hold(),
  lost: (fate) => {
    fate.hold()
    fate.restart()
    fate.letGo()
    fate.upstreamResponded(OK)
  },
  responded: (fate) => fate.respondedBy(OK),
  replaced: (fate) => fate.replied(),
  cut: (fate) => fate.cut(),
}

/** In the order of the states above. */
const cases: readonly (readonly [string, (fate: Fate) => void, readonly FateState[]])[] = [
  [
    'the response of the upstream',
    (fate) => fate.respondedBy(OK),
    ['responded', 'responded', 'responded', 'responded', 'replaced', 'replaced'],
  ],
  [
    'a changed response with the same outcome',
    (fate) => fate.respondedBy(SAME),
    ['responded', 'responded', 'responded', 'responded', 'replaced', 'replaced'],
  ],
  ['another outcome', (fate) => fate.respondedBy(TOOL_ERROR), allOf('replaced')],
  ['a response with another id', (fate) => fate.respondedBy(FOREIGN), allOf('replaced')],
  ['no message', (fate) => fate.respondedBy(undefined), allOf('replaced')],
  ['a reply of a fault', (fate) => fate.replied(), allOf('replaced')],
  ['changed bytes', (fate) => fate.changed(), ['cut', 'cut', 'cut', 'replaced', 'replaced', 'cut']],
  ['a cut', (fate) => fate.cut(), ['cut', 'cut', 'cut', 'responded', 'replaced', 'cut']],
  [
    'a reply that could not be sent',
    (fate) => void fate.repliedBy(() => false),
    ['open', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its connection',
    (fate) => fate.restart(),
    ['open', 'lost', 'lost', 'open', 'lost', 'lost'],
  ],
  [
    'the end of its connection while a fault holds it',
    (fate) => {
      fate.hold()
      fate.restart()
      fate.letGo()
    },
    allOf('lost'),
  ],
  [
    'the held response on another connection',
    (fate) => fate.restore(),
    ['open', 'held', 'open', 'responded', 'responded', 'open'],
  ],
  [
    'a fault that begins to hold it',
    (fate) => fate.hold(),
    ['held', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'another fault that holds it and lets go',
    (fate) => {
      fate.hold()
      fate.letGo()
    },
    ['open', 'held', 'lost', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its faults',
    (fate) => fate.count(),
    ['open', 'cut', 'cut', 'responded', 'replaced', 'cut'],
  ],
  [
    'the end of its faults while one holds it',
    (fate) => {
      fate.hold()
      fate.count()
    },
    ['cut', 'cut', 'cut', 'replaced', 'replaced', 'cut'],
  ],
]

describe.each(cases)('a call, by %s', (_, act, after) => {
  it.each(Object.keys(reach).map((from, at) => [from as FateState, after[at]!] as const))(
    'goes from %s to %s',
    (from, to) => {
      const fate = new Fate(CALL)
      fate.upstreamResponded(OK)
      reach[from](fate)
      expect(fate.state).toBe(from)
      act(fate)
      expect(fate.state).toBe(to)
      if (to !== 'open' && to !== 'responded') expect(fate.injected).toBe(true)
    },
  )
})

it.each(Object.keys(reach) as FateState[])(
  'a call that is %s counts as its state says',
  (state) => {
    const fate = new Fate(CALL)
    fate.upstreamResponded(OK)
    reach[state](fate)
    expect(fate.injected).toBe(state !== 'open' && state !== 'responded')
    fate.hold()
    expect(fate.injected).toBe(true)
    fate.letGo()
    expect(fate.injected).toBe(state !== 'open' && state !== 'responded')
    fate.edited()
    expect(fate.injected).toBe(true)
  },
)

it('a held call is open again when the last of its faults lets go', () => {
  const fate = new Fate(CALL)
  fate.hold()
  fate.hold()
  fate.letGo()
  expect(fate.state).toBe('held')
  fate.letGo()
  expect([fate.state, fate.injected]).toEqual(['open', false])
})

function allOf(state: FateState): readonly FateState[] {
  return [state, state, state, state, state, state]
}
