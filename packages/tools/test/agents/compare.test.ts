import { expect, it } from 'vitest'
import type { Agents } from '../../../../src/admin/contract/api.ts'
import { compare, fisher } from '../../src/agents/compare.ts'

it.each([
  [3, 10, 3, 10, 1],
  [8, 10, 1, 10, 0.0055],
  [26, 26, 0, 26, 4.03e-15],
  [1, 10, 11, 14, 0.002759],
  [300, 1000, 250, 1000, 0.0143],
])('Fisher’s exact test of %i of %i and %i of %i', (a, n, b, m, expected) => {
  const p = fisher({ count: a, of: n }, { count: b, of: m })
  expect(Math.abs(p / expected - 1)).toBeLessThan(0.03)
})

type Finding = Agents['findings'][number]

const finding = (tool: string, count: number, of: number, client = 'bot 1.0'): Finding => ({
  kind: 'gave_up',
  severity: 'medium',
  source: 'agent',
  client,
  taskKind: 'header',
  tool,
  count,
  of,
  sentence: '',
  advice: '',
  calls: [],
})
const agents = (findings: Finding[], rest: Finding[] = []): Agents => ({
  since: null,
  windowSeconds: 30,
  waiting: 0,
  total: findings.length,
  findings,
  rest,
})

it('tells new, worse, untested, same, better and gone findings apart, by name of the client', () => {
  const before = ['worse', 'same', 'better', 'gone', 'untested'].map((tool) =>
    finding(tool, tool === 'worse' ? 5 : 50, 100),
  )
  const now = [
    finding('new', 3, 3),
    finding('worse', 50, 100, 'bot 2.0'),
    finding('same', 45, 100),
    finding('better', 5, 100),
  ]
  const differences = compare(agents(before), agents(now, [finding('gone', 0, 90)]))
  expect(differences.map(({ change, finding: { tool } }) => [change, tool])).toEqual(
    ['new', 'worse', 'untested', 'same', 'better', 'gone'].map((each) => [each, each]),
  )
})

it('calls nothing new or gone that chance explains', () => {
  const before = agents([finding('rare', 3, 3)], [finding('noise', 2, 200)])
  const differences = compare(before, agents([finding('noise', 3, 200)], [finding('rare', 2, 2)]))
  expect(differences.map(({ change }) => change)).toEqual(['same', 'same'])
})

it('has one difference for the findings of several sidecars, with their sum', () => {
  const two = agents([finding('a', 3, 3), finding('a', 4, 4)])
  const none = agents([])
  const [one, ...others] = compare(none, two)
  expect(one).toMatchObject({ change: 'new', finding: { count: 4 }, now: { count: 7, of: 7 } })
  const gone = compare(two, none)
  expect([others.length, ...gone.map(({ change }) => change)]).toEqual([0, 'untested'])
})

it('compares versions of a client, and clients whose names have several words', () => {
  const before = agents([finding('a', 50, 100, 'My Agent')])
  const [one, other] = compare(before, agents([finding('a', 50, 100, 'My Tester')]))
  expect([one?.change, other?.change]).toEqual(['new', 'untested'])
})

it('leaves out saved findings about clients that were not asked for', () => {
  const before = agents([finding('a', 3, 3), finding('b', 3, 3, 'other 1.0')])
  const asked = ({ client }: { client?: string | undefined }) => client === 'bot 2.0'
  const now = agents([finding('c', 3, 3, 'bot 2.0')], [finding('a', 0, 90, 'bot 2.0')])
  const differences = compare(before, now, asked)
  expect(differences.map(({ change, finding: { tool } }) => [change, tool])).toEqual([
    ['new', 'c'],
    ['gone', 'a'],
  ])
})
