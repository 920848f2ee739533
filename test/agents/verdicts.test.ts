import { describe, expect, it } from 'vitest'
import { VERDICT_NAMES } from '../../src/agents/verdicts.ts'
import { type Asked, type Ended, FAILED, LOST, watched } from './agents.ts'

const CALL: Asked = { tool: 'search', args: { q: 1, deep: { a: [1, 2], b: 'x' } } }
const SAME: Asked = { tool: 'search', args: { deep: { b: 'x', a: [1, 2] }, q: 1 } }
const CHANGED: Asked = { tool: 'search', args: { q: 2 } }
const OTHER: Asked = { tool: 'lookup', args: { q: 1 } }
const BEGIN: Asked = { method: 'initialize', session: '' }
/** Sent, and without a response. */
const CUT: Ended = { outcome: 'incomplete', executed: 'possible' }

type Step = readonly [Asked, Ended?] | number

/** The first call of each script is the one that an event is about. */
const SCRIPTS: readonly (readonly [verdict: string, what: string, ...steps: Step[]])[] = [
  ['retried', 'the same arguments in another order', [CALL, FAILED], [SAME]],
  ['retried', 'a real error', [CALL, { outcome: 'tool_error' }], [SAME]],
  ['retried', 'and failed again until the window ended', [CALL, FAILED], [SAME, FAILED], 1100],
  ['retried', 'a changed result', [CALL, { fault: 'rewrite', changed: true }], [SAME]],
  ['retried_changed', 'other arguments', [CALL, FAILED], [CHANGED]],
  ['honoured_retry_after', 'in time', [CALL, { ...FAILED, retryAfter: 500 }], 501, [SAME]],
  [
    'honoured_retry_after',
    'after the window',
    [CALL, { ...FAILED, retryAfter: 5000 }],
    5001,
    [SAME],
  ],
  ['ignored_retry_after', 'too early', [CALL, { ...FAILED, retryAfter: 500 }], 400, [SAME]],
  ['switched_tool', 'another tool', [CALL, FAILED], [OTHER]],
  ['switched_tool', 'a resource', [CALL, FAILED], [{ method: 'resources/read', tool: 'x:/y' }]],
  ['relisted', 'then called again', [CALL, FAILED], [{ method: 'tools/list' }], [SAME]],
  ['reinitialized', 'a new session, and no call in it', [CALL, FAILED], [BEGIN], 1100],
  ['reinitialized', 'a lost session', [CALL, { ...FAILED, sessionLost: true }], [BEGIN], [SAME]],
  ['retried', 'in a new session', [CALL, FAILED], [BEGIN], [SAME]],
  ['retried_changed', 'in a new session', [CALL, FAILED], [BEGIN], [CHANGED]],
  ['switched_tool', 'in a new session', [CALL, FAILED], [BEGIN], [OTHER]],
  ['relisted', 'in a new session', [CALL, FAILED], [BEGIN], [{ method: 'tools/list' }], [SAME]],
  ['duplicate_execution', 'in a new session', [CALL, LOST], [BEGIN], [SAME]],
  [
    'honoured_retry_after',
    'by the call in a new session',
    [CALL, { ...FAILED, retryAfter: 500 }],
    [BEGIN],
    501,
    [SAME],
  ],
  [
    'runaway',
    'each time in a new session',
    [CALL, FAILED],
    ...Array.from({ length: 4 }, (): Step[] => [[BEGIN], [SAME, FAILED]]).flat(),
  ],
  [
    'runaway',
    'each time after a list',
    [CALL, FAILED],
    ...Array.from({ length: 4 }, (): Step[] => [[{ method: 'tools/list' }], [SAME, FAILED]]).flat(),
  ],
  ['possible_duplicate', 'no response, and then one', [CALL, CUT], [SAME]],
  ['possible_duplicate', 'in a new session', [CALL, CUT], [BEGIN], [SAME]],
  ['possible_duplicate', 'one response that was hidden, and none', [CALL, LOST], [SAME, CUT], 1100],
  ['possible_duplicate', 'two times no response', [CALL, CUT], [SAME, CUT], 1100],
  ['duplicate_execution', 'known in the end', [CALL, LOST], [SAME, CUT], [SAME]],
  ['retried', 'no response to the first, and an error', [CALL, CUT], [SAME, FAILED], 1100],
  ['retried_changed', 'no response, and other arguments', [CALL, CUT], [CHANGED], 1100],
  ['gave_up', 'nothing', [CALL, FAILED], 1100],
  ['gave_up', 'pings do not count', [CALL, FAILED], [{ method: 'ping' }], 1100],
  ['gave_up', 'Retry-After makes the window longer', [CALL, { ...FAILED, retryAfter: 500 }], 1600],
  ['continued', 'a delay', [CALL, { fault: 'delay' }]],
  [
    'continued',
    'a changed result that nobody noticed',
    [CALL, { fault: 'rewrite', changed: true }],
    [OTHER],
  ],
  ['continued', 'a changed result at the end', [CALL, { fault: 'rewrite', changed: true }], 1100],
  ['duplicate_execution', 'the same call again', [CALL, LOST], [SAME]],
  ['duplicate_execution', 'after a list', [CALL, LOST], [{ method: 'tools/list' }], [SAME]],
  ['retried', 'executed once: the first was not', [CALL, FAILED], [SAME]],
  ['retried_changed', 'other arguments are another execution', [CALL, LOST], [CHANGED], 1100],
  ['duplicate_execution', 'after other arguments', [CALL, LOST], [CHANGED], [SAME]],
  [
    'duplicate_execution',
    'by the last of more retries than are allowed',
    [CALL, LOST],
    ...Array.from({ length: 3 }, (): Step => [SAME, FAILED]),
    [SAME],
  ],
  [
    'runaway',
    'more retries than are allowed of a call that was executed',
    [CALL, LOST],
    ...Array.from({ length: 4 }, (): Step => [SAME, FAILED]),
    1100,
  ],
  [
    'retried',
    'a list may be read again',
    [{ method: 'tools/list' }, LOST],
    [{ method: 'tools/list' }],
  ],
  [
    'switched_tool',
    'the same tool of another server',
    [CALL, LOST],
    [{ ...SAME, server: 'b' }],
    1100,
  ],
  [
    'runaway',
    'more than three retries',
    [CALL, FAILED],
    ...Array.from({ length: 4 }, (): Step => [SAME, FAILED]),
  ],
]

describe('the verdict after a fault or an error', () => {
  it.each(SCRIPTS.map(([verdict, what, ...steps]) => ({ verdict, what, steps })))(
    'is $verdict: $what',
    ({ verdict, steps }) => {
      const agent = watched()
      agent.call({ method: 'resources/list' })
      for (const step of steps) {
        if (typeof step === 'number') agent.wait(step)
        else agent.call(step[0], step[1])
      }
      expect(agent.verdicts[0]).toBe(verdict)
      // Exactly one verdict for each event.
      agent.wait(100_000)
      const events = steps.filter((step) => typeof step !== 'number' && step[1] !== undefined)
      expect(agent.verdicts).toHaveLength(events.length)
      expect(agent.watch.waiting).toBe(0)
      expect(VERDICT_NAMES).toContain(verdict)
    },
  )

  it('is not runaway after as many retries as are allowed', () => {
    const agent = watched()
    for (let i = 0; i < 4; i++) agent.call(CALL, FAILED)
    agent.wait(1100)
    expect(agent.verdicts).toEqual(['retried', 'retried', 'retried', 'gave_up'])
  })

  it('counts each fault of a call, and the real error beside a fault', () => {
    const { call, wait, watch } = watched()
    const causes: string[][] = []
    watch.read(({ event }) => causes.push([...event.facts.causes]))
    call(CALL, { fault: 'delay', outcome: 'tool_error' })
    call(CALL, { fault: 'abort', outcome: 'reset' })
    wait(1100)
    // The origin of an outcome is given by the record, which blames the fault here.
    expect(causes).toEqual([['delay'], ['abort']])
  })
})

describe('calls that cannot be told apart', () => {
  it.each([
    ['a call that was open at the same time', false],
    ['a retry that overlaps another call', true],
  ])('are ambiguous on one session: %s', (_what, isAfter) => {
    const { begin, end, verdicts, call } = watched()
    if (isAfter) {
      call(CALL, FAILED)
      begin(OTHER)
      begin(SAME)
    } else {
      const first = begin(CALL)
      begin(OTHER)
      end(first, FAILED)
    }
    expect(verdicts).toEqual(['ambiguous'])
  })

  it('are told apart by a key of the task', () => {
    const { begin, end, verdicts } = watched()
    const tasks = ['a', 'b', 'c'].map((id) => ({ ...CALL, headers: ['X-Task-Id', id] }))
    const first = tasks.map((asked) => begin(asked))
    first.forEach((action) => end(action, FAILED))
    end(begin({ ...tasks[0]!, tool: 'lookup' }))
    const again = begin(tasks[1]!)
    const changed = begin({ ...tasks[2]!, args: {} })
    end(again)
    end(changed)
    expect(verdicts).toEqual(['switched_tool', 'retried', 'retried_changed'])
  })

  it('are ambiguous when a client with two sessions begins another', () => {
    const { call, verdicts } = watched()
    call({ ...CALL, session: 'a' }, FAILED)
    call({ ...CALL, session: 'b' })
    call({ method: 'initialize', session: '' })
    expect(verdicts).toEqual(['ambiguous'])
  })

  it('leave a verdict that was clear before as it was', () => {
    const { call, begin, verdicts } = watched()
    call(CALL, FAILED)
    call(SAME, FAILED)
    begin(OTHER)
    begin(OTHER)
    expect(verdicts[0]).toBe('retried')
  })
})
