import { expect, it } from 'vitest'
import { showAgents } from '../../src/admin/show-agents.ts'
import { Findings } from '../../src/agents/findings.ts'
import { Tally } from '../../src/agents/tally.ts'
import { ShownIds } from '../../src/telemetry/shown-ids.ts'
import { type Asked, FAILED, LOST, watched } from './agents.ts'

const inTask = (id: string): Pick<Asked, 'headers'> => ({ headers: ['x-task-id', id] })

function stage() {
  const findings = new Findings({ window: 1000, maxRetries: 3 })
  const agent = watched({}, undefined, findings)
  const { watch, counts } = agent
  const source = { watch, counts, findings, ids: new ShownIds() }
  const shown = (query = '') => showAgents(source, new URLSearchParams(query))
  const givesUp = (tool: string, tasks: number): void => {
    for (let i = 0; i < tasks; i++) agent.call({ tool, ...inTask(`${tool} ${i}`) }, FAILED)
    agent.wait(5000)
  }
  return { ...agent, shown, givesUp }
}

it('needs three calls, or one double write', () => {
  const { shown, givesUp, call, wait } = stage()
  givesUp('search', 2)
  expect(shown().findings).toEqual([])
  call({ tool: 'book', ...inTask('b') }, LOST)
  call({ tool: 'book', ...inTask('b') })
  givesUp('search', 3)
  wait(1000)
  expect(shown().findings).toMatchObject([
    { kind: 'double_write', tool: 'book', count: 1, cure: { name: 'idempotency-key' } },
    { kind: 'gave_up', tool: 'search', count: 5, of: 5 },
  ])
  expect(shown('client=other').findings).toEqual([])
  expect(shown('all=true').rest).toContainEqual(
    expect.objectContaining({ kind: 'no_back_off', tool: 'book', count: 1, of: 1 }),
  )
})

it('says nothing of calls from before the time that is asked for', () => {
  const { shown, call, pass, wait, begin, end, now } = stage()
  const ignores = (task: string, retryAfter: number, pause: number): void => {
    const asked = { tool: 'search', ...inTask(task) }
    call(asked, { ...FAILED, retryAfter })
    pass(pause)
    call(asked)
  }
  const storms = (task: string, size: number): void => {
    const asked = { tool: 'list', ...inTask(task) }
    const all = Array.from({ length: size }, () => begin(asked))
    for (const each of all) end(each)
  }
  const all = (part: string, size: number, ...times: [number, number]): void => {
    for (let i = 0; i < 3; i++) ignores(`${part} ${i}`, ...times)
    storms(part, size)
    wait(5000)
  }
  all('old', 14, 3000, 0)
  const since = new Date(now()).toISOString()
  all('new', 12, 2000, 1500)
  const sentences = shown(`since=${since}`).findings.map(({ sentence }) => sentence)
  expect(sentences).toEqual([
    expect.stringContaining('up to 12 at once'),
    expect.stringContaining('the first retry came after 1.5 s instead of 2 s'),
  ])
})

it('shows 20 findings, and all on request', () => {
  const { shown, givesUp } = stage()
  for (let i = 0; i < 25; i++) givesUp(`search ${i}`, 3)
  expect(shown()).toMatchObject({ total: 25, findings: { length: 20 } })
  expect(shown('all=true').findings).toHaveLength(25)
})

it('has no finding about an agent that retries with a pause', () => {
  const { shown, call, pass, wait } = stage()
  for (let i = 0; i < 5; i++) {
    call({ tool: 'search', ...inTask(`t${i}`) }, FAILED)
    pass(500)
    call({ tool: 'search', ...inTask(`t${i}`) })
  }
  wait(5000)
  expect(shown().findings).toEqual([])
})

it('does not blame an agent whose client left the call', () => {
  const { shown, call, wait } = stage()
  const left = { ...FAILED, outcome: 'abandoned' } as const
  for (let i = 0; i < 5; i++) call({ tool: 'search', ...inTask(`t${i}`) }, left)
  wait(5000)
  expect(shown().findings.filter(({ kind }) => kind === 'gave_up')).toEqual([])
})

it.each(['since=soon', 'all=maybe', 'tool=a'])('rejects the query %s', (query) => {
  expect(() => stage().shown(query)).toThrow(/since|all|filter/)
})

it('keeps the clients and tools that were seen last, and keeps names short', () => {
  const { shown, givesUp } = stage()
  for (let i = 0; i < 600; i++) givesUp(`tool ${i}`, 3)
  givesUp(`\u001b[2J${'x'.repeat(1_000_000)}`, 3)
  const { findings, total } = shown('all=true')
  expect(total).toBe(500)
  const tools = findings.map(({ tool }) => tool)
  expect(tools).toContain('tool 599')
  expect(tools).not.toContain('tool 0')
  const long = findings.find(({ tool }) => tool.includes('xxx'))!
  expect(long.sentence.length).toBeLessThan(400)
  expect(long.sentence).toContain(String.raw`\u{1b}`)
})

it('knows what was counted since a time, in few slots', () => {
  const tally = new Tally()
  for (let second = 0; second < 100_000; second++) tally.add(second * 1000, { count: 1, of: 2 })
  expect(tally.since(0)).toMatchObject({ count: 100_000, of: 200_000 })
  const { count } = tally.since(50_000_000)
  expect(count).toBeGreaterThanOrEqual(50_000)
  expect(count).toBeLessThan(55_000)
  const lately = tally.since(99_400_000).count
  expect(lately).toBeGreaterThanOrEqual(600)
  expect(lately).toBeLessThan(800)
})
