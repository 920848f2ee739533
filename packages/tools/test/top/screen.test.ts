import { expect, it } from 'vitest'
import { INITIAL_CONTROLS } from '../../src/top/controls.ts'
import { cells, paintLine, plainText } from '../../../../src/cli/terminal/terminal.ts'
import {
  mostScroll,
  renderReport,
  renderScreen,
  type ScreenOptions,
} from '../../src/top/screen/screen.ts'
import type { Sorting } from '../../src/top/sorting.ts'
import { board, error, rule, tool } from './boards.ts'

const LOOK: ScreenOptions = { ...INITIAL_CONTROLS, width: 80, height: 36 }

const FAULT = {
  at: '2026-03-01T09:04:19.749Z',
  rule: 'slow-search',
  fault: 'delay',
  tool: 'search',
  id: 2,
  session: '6171b6f0',
  delayMs: 50.4,
}
const RULES = [rule('slow-search', 40), rule('never-called', 0, { faults: ['abort'] })]
const ERRORS = [
  error('injected', 'injected by Squall: 503', {
    outcome: 'http_error',
    status: 503,
    rule: 'slow-search',
    fault: 'abort',
    count: 10,
  }),
  error('real', 'the index is being rebuilt', { tool: 'list_orders' }),
]
const TOOLS = [
  tool('search', [1, 10], 0, [0.0021, 0.06, 1.2]),
  tool('list_orders', [1, 0], 0, [0.0015, 0.004, 0.009]),
]
const SECONDS = [
  { rules: RULES, tools: [tool('search', [0, 0])] },
  { rules: RULES, tools: [tool('search', [1, 2])] },
  { rules: RULES, tools: TOOLS, errors: ERRORS, faults: [FAULT] },
]
const OTHER = { armed: false, digest: 'c289a96b00', rules: [rule('slow-search', 2)] }
const BOARD = board([SECONDS, [OTHER, OTHER, OTHER], 'connection refused'])

const shown = (screen: Partial<ScreenOptions> = {}, of = BOARD): string[] =>
  plainText(renderScreen(of, { ...LOOK, ...screen })).split('\n')

it('shows a disabled rule as such, and not as idle', () => {
  const rules = [rule('off', 0, { phase: 'disabled' })]
  const line = shown({}, board([[{ rules }]])).find((each) => each.startsWith(' off '))
  expect(line).toMatch(/^ off +delay\+abort +disabled +0 +0 +0/)
})

it('shows the columns that fit on 80 columns', () => {
  expect(shown({ height: 30 }).join('\n')).toBe(`\
 squall top  3 sidecars, 1 armed, 1 lost                           09:04:23 UTC
 ≠ DIFFERENT RULES: 9827943e in 1, c289a96b in 2
  #  SIDECAR         STATE     RULES          CALLS/S   INJ/S  REAL/S  SAMPLED
  1  10.0.0.7:15390  armed     ≠9827943e g3       109     8.0     1.0       40
  2  10.0.0.7:15391  DISARMED  ≠c289a96b g3         0       0       0        2
     disarmed by operator at 09:03:11: deploy
  3  10.0.0.7:15392  LOST                           -       -       -        -
     lost, trying again: connection refused

 injected errors/s    8.0                                             ▂█ 46 s
     real errors/s    1.0                                             ▂▂

 RULE          FAULTS       STATE        MATCHED   SAMPLED  INJECTED
 slow-search   delay+abort  on 1 of 2        126        42        42
 never-called  abort        IDLE               0         0         0

 TOOL         CALLS/S   INJ/S  REAL/S      P95  INJECTED     REAL
 search           8.0     8.0       0    60 ms        10        1
 list_orders      101       0     1.0  4.00 ms         0        1

 LAST ERRORS  ORIGIN    CALLED       STATUS  COUNT  MESSAGE
 09:04:18     injected  search          503     10  injected by Squall: 503
 09:04:18     real      list_orders       -      1  the index is being rebuilt

 LAST FAULTS  RULE         FAULT         CALLED  EFFECT
 09:04:19     slow-search  delay         search  50 ms late, id 2, session 617…



 ? help  q quit  s sort  tab ↑↓ scroll  p pause  1-9 sidecar  d disarm  a arm
`)
})

it('leaves out columns on 50 columns, so that the others stay together and are whole', () => {
  expect(shown({ width: 50, height: 30 }).join('\n')).toBe(`\
 squall top  3 sidecars, 1 armed, 1 lost
 ≠ DIFFERENT RULES: 9827943e in 1, c289a96b in 2
  #  SIDECAR         STATE      INJ/S  REAL/S
  1  10.0.0.7:15390  armed        8.0     1.0
  2  10.0.0.7:15391  DISARMED       0       0
     disarmed by operator at 09:03:11: deploy
  3  10.0.0.7:15392  LOST           -       -
     lost, trying again: connection refused

 injected errors/s    8.0               ▂█ 16 s
     real errors/s    1.0               ▂▂

 RULE          STATE        SAMPLED  INJECTED
 slow-search   on 1 of 2         42        42
 never-called  IDLE               0         0

 TOOL         CALLS/S   INJ/S  REAL/S      P95
 search           8.0     8.0       0    60 ms
 list_orders      101       0     1.0  4.00 ms

 LAST ERRORS  ORIGIN    CALLED    MESSAGE
 09:04:18     injected  search    injected by S…
 09:04:18     real      list_or…  the index is …

 LAST FAULTS  RULE         CALLED
 09:04:19     slow-search  search



 ? help  q quit  s sort  tab ↑↓ scroll  p pause …
`)
})

it('shows all columns on 200 columns, beside each other, and one sidecar alone', () => {
  const screen = { width: 200, height: 24, focus: 1, paused: true }
  expect(shown(screen).join('\n')).toBe(`\
 squall top  sidecar 1 of 3                                                                        PAUSED  09:04:23 UTC
 ≠ DIFFERENT RULES: 9827943e in 1, c289a96b in 2
  #  SIDECAR         STATE     RULES          CALLS/S   INJ/S  REAL/S  SAMPLED  ACTIVE  ENVIRONMENT
  1  10.0.0.7:15390  armed     ≠9827943e g3       109     8.0     1.0       40       2  staging

 injected errors/s    8.0                                                                                                                       ▂█ 120 s
     real errors/s    1.0                                                                                                                       ▂▂

 RULE          FAULTS       STATE        MATCHED   SAMPLED  INJECTED  ACTIVE
 slow-search   delay+abort  on               120        40        40       1
 never-called  abort        IDLE               0         0         0       1

 TOOL         CALLS/S   INJ/S  REAL/S      P50      P95      P99     CALLS  INJECTED     REAL  SQUALL  ELSEWHERE
 search           8.0     8.0       0  2.10 ms    60 ms   1.20 s       111        10        1       0          0
 list_orders      101       0     1.0  1.50 ms  4.00 ms  9.00 ms       101         0        1       0          0

 LAST ERRORS  ORIGIN    CALLED       OUTCOME     STATUS  COUNT  MESSAGE                     BY                 TRACE
 09:04:18     injected  search       http_error     503     10  injected by Squall: 503     slow-search/abort  4bf92f3577b34da6a3ce929d0e0e4736
 09:04:18     real      list_orders  tool_error       -      1  the index is being rebuilt                     4bf92f3577b34da6a3ce929d0e0e4736

 LAST FAULTS  RULE         FAULT         CALLED  EFFECT
 09:04:19     slow-search  delay         search  50 ms late, id 2, session 6171b6f0

 ? help  q quit  s sort  tab ↑↓ scroll  p pause  1-9 sidecar  d disarm  a arm
`)
})

it('sorts tables by key', () => {
  const first = (sorting: Sorting, title: string): string => {
    const lines = shown({ sorting })
    return lines[lines.findIndex((line) => line.startsWith(` ${title} `)) + 1]!.split(/ +/)[1]!
  }
  const orders = ['usual', 'name', 'calls', 'errors', 'latency'] as const
  expect(orders.map((order) => [first(order, 'TOOL'), first(order, 'RULE')])).toEqual([
    ['search', 'slow-search'],
    ['list_orders', 'never-called'],
    ['search', 'slow-search'],
    ['search', 'slow-search'],
    ['search', 'slow-search'],
  ])
  const slow = board([[{ tools: [tool('fast', [9, 0]), tool('slow', [0, 0], 0, [1, 2, 3])] }]])
  const rows = shown({ sorting: 'latency' }, slow)
  expect(rows[0]).toContain('by latency')
  expect(rows.findIndex((row) => row.startsWith(' slow '))).toBeLessThan(
    rows.findIndex((row) => row.startsWith(' fast ')),
  )
})

it('shows one table alone, from the row to which it is scrolled', () => {
  const tools = Array.from({ length: 20 }, (_, i) => tool(`tool-${i}`, [20 - i, 0]))
  const many = board([[{ tools }]])
  const screen = { table: 2, height: 10 }
  const rows = (scroll: number): string[] => shown({ ...screen, scroll }, many).slice(2, 9)
  expect(rows(3).map((row) => row.slice(0, 16))).toEqual([
    ' tool-3         ',
    ' tool-4         ',
    ' tool-5         ',
    ' tool-6         ',
    ' tool-7         ',
    ' tool-8         ',
    ' 4 to 9 of 20',
  ])
  expect(mostScroll(many, { ...LOOK, ...screen })).toBe(14)
  expect(rows(99)).toEqual(rows(14))
  expect(shown({ table: 3 }, many)[2]).toBe(' no errors yet')
})

it('shows each kind of error with its message, status, count and trace, as text', () => {
  const hostile = error('real', '\u001b[2Jgone', { tool: '\u202eevil', code: -32603 })
  const text = shown({ width: 200 }, board([[{ errors: [...ERRORS, hostile] }]])).join('\n')
  expect(text).toMatch(
    / 09:04:18 +injected +search +http_error +503 +10 +injected by Squall: 503 +slow-search\/abort +4bf9/,
  )
  expect(text).toMatch(/ real +\\u\{202e\}evil +tool_error +-32603 +1 +\\u\{1b\}\[2Jgone/)
})

it('sums up equal errors of several sidecars, with the newest message', () => {
  const later = '2026-03-01T09:04:19.000Z'
  const samples = [{ at: later, message: 'the newest' }]
  const newer = { errors: [error('real', '', { count: 4, last: later, samples })] }
  const lines = shown({}, board([[{ errors: [error('real', 'older')] }], [newer]]))
  expect(lines.filter((line) => / real +search/.test(line))).toEqual([
    ' 09:04:19     real      search       -      5  the newest',
  ])
})

it('counts the hidden rows, and the idle rules among them', () => {
  const rules = Array.from({ length: 20 }, (_, i) => rule(`rule-${i}`, i < 10 ? i : 0))
  const tools = Array.from({ length: 20 }, (_, i) => tool(`tool-${i}`, [i, 0]))
  const lines = shown(
    { height: 24 },
    board([[{ rules, tools, faults: Array.from({ length: 30 }, () => FAULT) }]]),
  )
  expect(lines).toHaveLength(25)
  expect(lines.filter((line) => line.startsWith(' …'))).toEqual([
    ' … 18 more, 10 of them idle',
    ' … 18 more',
    ' … 19 more',
  ])
})

it('shows the problem of rejected rules, and the pending question', () => {
  const position = { file: 'rules.yaml', line: 3, column: 5, code: 'unknown_key', path: '' }
  const problems = [{ ...position, message: 'unknown key "percnt"' }]
  const lastReload = {
    result: 'rejected',
    digest: 'c289a96b',
    at: '2026-03-01T09:04:02.972Z',
    problemCount: 2,
    problems,
  }
  const lines = shown(
    { width: 120, notice: 'disarm all 1 sidecars? y/n' },
    board([[{ lastReload }]]),
  )
  expect(lines[3]).toBe(
    '     rules rejected at 09:04:02; g3 stays active: rules.yaml:3:5 unknown key "percnt" (and 1 more)',
  )
  expect(lines.at(-2)).toBe(' disarm all 1 sidecars? y/n')
})

it('never exceeds the size of the screen', () => {
  const many = board(Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? SECONDS : 'no response')))
  for (const width of [1, 20, 50, 80, 81, 133, 200]) {
    for (const height of [1, 2, 9, 24, 60]) {
      for (const screen of [{}, { help: true }, { focus: 1 }, { table: 2 }]) {
        const lines = renderScreen(many, { ...LOOK, width, height, ...screen })
        expect(lines.length).toBe(height)
        for (const line of lines) {
          expect(cells(line.map(({ text }) => text).join(''))).toBeLessThan(width)
        }
      }
    }
  }
  expect(shown({ height: 40 }, many).join('\n')).toMatch(/… \d+ more sidecars/)
})

it('aligns columns with wide letters, and neutralizes names', () => {
  const names = ['検索ツール', '🔧 fix', '\u001b[2Jgone\u0007', '\u202eevil', 'e\u0301']
  const tools = names.map((name, i) => tool(name, [9 - i, 0]))
  const text = plainText(renderReport(board([[{ tools }]]), 100))
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  const lines = text.split('\n')
  const at = lines.findIndex((line) => line.startsWith(' TOOL'))
  const rows = lines.slice(at + 1, at + 6)
  for (const row of rows) expect(cells(row)).toBe(cells(lines[at]!))
  expect(text).toContain('\\u{1b}[2Jgone\\u{7}')
})

it('paints colours only on request', () => {
  const [line] = renderScreen(BOARD, LOOK)
  expect(paintLine(line!, true)).toContain('\u001b[1m squall top')
  expect(paintLine(line!, false)).not.toContain('\u001b')
})

it('does not show the old state of a lost sidecar', () => {
  const lines = shown({}, board(['no response']))
  expect(lines.filter((line) => line === ' no sidecar is connected')).toHaveLength(4)
})

it('shows help instead of the numbers', () => {
  const text = shown({ help: true }).join('\n')
  expect(text).toContain('IDLE  ')
  expect(text).not.toContain('slow-search')
})
