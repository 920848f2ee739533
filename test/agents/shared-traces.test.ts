import { describe, expect, it } from 'vitest'
import { bytesHeld } from '../support/bytes-held.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { type Asked, type Ended, FAILED, LOST, watched } from './agents.ts'

/** A step of a script: a call that begins, one that ends, or time that passes. */
type Step =
  | { readonly agent: number; readonly begins: Asked }
  | { readonly ends: number; readonly as: Ended }
  | { readonly waits: number }

const WINDOW = 1000
const traceOf = (n: number): string => `00-${n.toString(16).padStart(32, '0')}-00f067aa0ba902b7-01`

const ENDS: readonly Ended[] = [
  {},
  {},
  FAILED,
  FAILED,
  LOST,
  { ...FAILED, retryAfter: 300 },
  { fault: 'delay' },
  { outcome: 'cancelled', executed: false },
]

/** A script of agents that call at random, each in its own order. */
function scriptOf(seed: number, { agents, overlaps }: { agents: number; overlaps: boolean }) {
  const choices = new Random(seed)
  const random = (below: number): number => choices.int(0, below - 1)
  const steps: Step[] = []
  const open: { readonly call: number; readonly agent: number }[] = []
  let calls = 0
  const end = (at: number): void => {
    const [{ call }] = open.splice(at, 1) as [(typeof open)[number]]
    steps.push({ ends: call, as: ENDS[random(ENDS.length)]! })
  }
  for (let i = 0; i < 40; i++) {
    const kind = random(10)
    const agent = random(agents)
    if (kind === 0) steps.push({ waits: random(700) })
    else if (kind < 5 && open.length > 0) end(random(open.length))
    else if (overlaps || !open.some((each) => each.agent === agent)) {
      const tool = `t${random(3)}`
      const args = { q: random(2) }
      const begins: Asked =
        kind === 9
          ? { method: random(2) === 0 ? 'tools/list' : 'ping' }
          : { tool, args, method: 'tools/call' }
      steps.push({ agent, begins })
      open.push({ call: calls++, agent })
    }
  }
  while (open.length > 0) end(0)
  return steps
}

/** Returns the verdict about each call of a script, by the order of the calls. */
function verdictsOf(steps: readonly Step[], named: (agent: number, call: number) => Asked) {
  const { begin, end, watch, wait } = watched({ window: WINDOW })
  const verdicts = new Map<number, string>()
  const calls: ReturnType<typeof begin>[] = []
  watch.read(({ event, verdict }) => {
    const call = calls.findIndex((action) => action === event.facts.action)
    verdicts.set(call, `${verdict} ${event.retries}`)
  })
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= 10) wait(10)
  }
  for (const step of steps) {
    if ('waits' in step) pass(step.waits)
    else if ('ends' in step) end(calls[step.ends], step.as)
    else calls.push(begin({ ...step.begins, ...named(step.agent, calls.length) }))
  }
  pass(4 * WINDOW)
  expect(watch.waiting).toBe(0)
  return [...verdicts].sort(([a], [b]) => a - b)
}

const SEEDS = Array.from({ length: rounds(30, 1500) }, (_, seed) => seed)

describe('verdicts about agents that call at random', () => {
  it.each([
    ['one session', { session: 's' }],
    ['no session', { session: '' }],
  ])('do not change when each call begins a trace: %s', (_, where) => {
    for (const seed of SEEDS) {
      const steps = scriptOf(seed, { agents: 2, overlaps: seed % 2 === 0 })
      const traced = verdictsOf(steps, (__, call) => ({ ...where, trace: traceOf(call + 1) }))
      expect(traced, `seed ${seed}`).toEqual(verdictsOf(steps, () => where))
    }
  })

  // Both are exact: ends of tasks, retries and pauses come at the times of the calls.
  it('are those of a key where each agent has one trace', () => {
    for (const seed of SEEDS) {
      const script = scriptOf(seed, { agents: 3, overlaps: seed % 2 === 0 })
      // A trace with one call is not shared, and one with a longer pause is forgotten.
      const steps = script.filter((step) => !('waits' in step) || step.waits < 50)
      const isShared = [0, 1, 2].every((agent) => {
        const own = steps.filter((step) => 'begins' in step && step.agent === agent)
        return own.filter((step) => 'begins' in step && step.begins.tool !== undefined).length > 1
      })
      if (!isShared) continue
      const traced = verdictsOf(steps, (agent) => ({ trace: traceOf(agent + 1) }))
      const keyed = verdictsOf(steps, (agent) => ({ headers: ['x-task-id', `${agent}`] }))
      expect(traced, `seed ${seed}`).toEqual(keyed)
    }
  })
})

describe('a trace names a task', () => {
  const tasksOf = ({ watch }: ReturnType<typeof watched>) =>
    [...watch.tasks()]
      .map(({ task }) => `${task.kind} ${task.sums.calls + task.sums.retries}`)
      .sort()

  it('from its second call on, which takes the first along', () => {
    const setup = watched()
    setup.call({ tool: 'pay', trace: traceOf(1) }, FAILED)
    expect(setup.watch.waiting).toBe(1)
    setup.call({ tool: 'other', trace: traceOf(2) })
    setup.call({ tool: 'pay', trace: traceOf(1) })
    setup.wait(3 * WINDOW)
    expect(setup.verdicts).toEqual(['retried'])
    setup.wait(3 * WINDOW)
    expect(tasksOf(setup)).toEqual(['session 1', 'trace 2'])
  })

  it('where calls of one session share it, whatever address they come from', () => {
    const setup = watched()
    setup.call({ tool: 'a' })
    setup.call({ tool: 'pay', trace: traceOf(1), peer: '10.0.0.1' }, FAILED)
    setup.call({ tool: 'pay', trace: traceOf(1), peer: '10.0.0.2' })
    expect(tasksOf(setup)).toContain('trace 2')
  })

  it.each([
    ['two clients', {}, { peer: '10.0.0.2', session: 't' }],
    ['a list within the span of a call', {}, { method: 'tools/list' }],
    ['a handshake within the span of a call', {}, { method: 'initialize', session: '' }],
    ['a ping', {}, { method: 'ping' }],
  ])('but not where %s use it', (_, first, second) => {
    const setup = watched()
    setup.call({ tool: 'a', trace: traceOf(1), ...first })
    setup.call({ ...('method' in second ? {} : { tool: 'a' }), trace: traceOf(1), ...second })
    setup.wait(1)
    setup.wait(3 * WINDOW)
    setup.wait(3 * WINDOW)
    expect(tasksOf(setup).join()).not.toContain('trace')
  })

  it('where a list follows a call that failed', () => {
    const { call, verdicts, wait } = watched()
    for (const agent of [1, 2]) call({ tool: 'a', trace: traceOf(agent) }, FAILED)
    for (const agent of [1, 2]) call({ method: 'tools/list', trace: traceOf(agent) })
    wait(3 * WINDOW)
    expect(verdicts).toEqual(['relisted', 'relisted'])
  })

  it('at once where no other key is in use', () => {
    const setup = watched({ by: ['trace'] })
    setup.call({ tool: 'a', trace: traceOf(1) })
    expect(tasksOf(setup)).toEqual(['trace 1'])
  })
})

it('a call that stays open holds others back for two windows at most', () => {
  const { begin, call, verdicts, wait } = watched()
  begin({ tool: 'slow', trace: traceOf(1) })
  for (const trace of [2, 3]) call({ tool: 'pay', trace: traceOf(trace) }, FAILED)
  wait(2 * WINDOW)
  expect(verdicts).toEqual(['ambiguous', 'ambiguous'])
})

it('a session that its client ends while its calls are held is not open', () => {
  const { begin, end, call, watch, verdicts, wait } = watched()
  for (const [n, session] of ['a', 'b', 'c'].entries()) {
    const opened = begin({ method: 'initialize', session: '', trace: traceOf(2 * n + 1) })
    watch.sessionBegan(opened!, session)
    end(opened)
    call({ tool: 'pay', session, trace: traceOf(2 * n + 2) }, n === 1 ? FAILED : {})
    watch.sessionLeft(session)
  }
  wait(3 * WINDOW)
  expect(verdicts).toEqual(['retried'])
})

it('holds bounded calls and bounded memory when each call begins a trace', () => {
  const setup = watched({ window: 1e9 }, () => 'other')
  const before = bytesHeld().heapUsed
  for (let i = 1; i <= rounds(8000, 100_000); i++) {
    const long = 'n'.repeat(200)
    setup.call({ tool: `${long}${i % 5}`, args: { long }, trace: traceOf(i) }, FAILED)
    setup.verdicts.length = 0
  }
  expect(setup.watch.waiting).toBeLessThanOrEqual(5000 + 1000 + 1)
  expect((bytesHeld().heapUsed - before) / 1e6).toBeLessThan(20)
})

it('releases held calls a thousand at a time', () => {
  const { call, watch, wait } = watched()
  for (let i = 1; i <= 2000; i++) call({ tool: 'a', trace: traceOf(i) }, FAILED)
  wait(5 * WINDOW)
  expect(watch.waiting).toBeGreaterThan(1400)
  for (let i = 0; i < 3; i++) wait(1)
  wait(WINDOW)
  expect(watch.waiting).toBe(0)
})
