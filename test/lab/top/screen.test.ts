import { expect, it } from 'vitest'
import { cells, plainText, paintLine } from '../../../src/lab/top/screen/line.ts'
import {
  renderReport,
  renderScreen,
  type ScreenOptions,
} from '../../../src/lab/top/screen/screen.ts'
import { board, rule, tool } from './boards.ts'

const LOOK: ScreenOptions = {
  width: 80,
  height: 30,
  focus: 0,
  paused: false,
  help: false,
  notice: '',
}

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
const SECONDS = [
  { rules: RULES, tools: [tool('search', [0, 0])] },
  { rules: RULES, tools: [tool('search', [1, 2])] },
  { rules: RULES, tools: [tool('search', [1, 10])], faults: [FAULT] },
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

it('shows everything on 80 columns', () => {
  expect(shown().join('\n')).toBe(`\
 squall top  3 sidecars, 1 armed, 1 lost                           09:04:23 UTC
 ≠ DIFFERENT RULES: 9827943e in 1, c289a96b in 2
  #  SIDECAR          STATE     RULES          CALLS/S   INJ/S  REAL/S  SAMPLED
  1  10.0.0.7:15390   armed     ≠9827943e g3       8.0     8.0       0       40
  2  10.0.0.7:15391   DISARMED  ≠c289a96b g3         0       0       0        2
     disarmed by operator at 09:03:11: deploy
  3  10.0.0.7:15392   LOST                           -       -       -        -
     lost, trying again: connection refused

 injected errors/s    8.0                                             ▂█ 46 s
     real errors/s      0                                             ▂▁

 RULE                  FAULTS          STATE        MATCHED   SAMPLED  INJECTED
 slow-search           delay+abort     on 1 of 2        126        42        42
 never-called          abort           IDLE               0         0         0

 TOOL                        CALLS/S   INJ/S  REAL/S  INJECTED     REAL  SQUALL
 search                          8.0     8.0       0        10        1       0

 LAST FAULTS  RULE            FAULT         CALLED          WHAT
 09:04:19     slow-search     delay         search          50 ms late, id 2, …








 q quit  p pause  d disarm  a arm  1-9 one sidecar  0 all  ? help
`)
})

it('shows more on 120 columns, and one sidecar alone', () => {
  expect(shown({ width: 120, focus: 1, paused: true, height: 20 }).join('\n')).toBe(`\
 squall top  sidecar 1 of 3                                                                        PAUSED  09:04:23 UTC
 ≠ DIFFERENT RULES: 9827943e in 1, c289a96b in 2
  #  SIDECAR                            STATE     RULES          CALLS/S   INJ/S  REAL/S  SAMPLED  ACTIVE  ENVIRONMENT
  1  10.0.0.7:15390                     armed     ≠9827943e g3       8.0     8.0       0       40       2  staging

 injected errors/s    8.0                                                                                     ▂█ 86 s
     real errors/s      0                                                                                     ▂▁

 RULE                                      FAULTS                      STATE        MATCHED   SAMPLED  INJECTED  ACTIVE
 slow-search                               delay+abort                 on               120        40        40       1
 never-called                              abort                       IDLE               0         0         0       1

 TOOL                                                      CALLS/S   INJ/S  REAL/S     CALLS  INJECTED     REAL  SQUALL
 search                                                        8.0     8.0       0       111        10        1       0

 LAST FAULTS  RULE                        FAULT         CALLED                      WHAT
 09:04:19     slow-search                 delay         search                      50 ms late, id 2, session 6171b6f0


 q quit  p pause  d disarm  a arm  1-9 one sidecar  0 all  ? help
`)
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
    ' … 17 more, 10 of them idle',
    ' … 17 more',
    ' … 18 more',
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
  for (const width of [1, 20, 80, 81, 133]) {
    for (const height of [1, 2, 9, 24, 60]) {
      for (const screen of [{}, { help: true }, { focus: 1 }]) {
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
  const text = plainText(renderReport(board([[{ tools }]]), 80))
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  const lines = text.split('\n')
  const at = lines.findIndex((line) => line.startsWith(' TOOL'))
  const rows = lines.slice(at + 1, at + 6)
  for (const row of rows) expect(cells(row)).toBe(79)
  expect(text).toContain('\\u{1b}[2Jgone\\u{7}')
})

it('paints colours only on request', () => {
  const [line] = renderScreen(BOARD, LOOK)
  expect(paintLine(line!, true)).toContain('\u001b[1m squall top')
  expect(paintLine(line!, false)).not.toContain('\u001b')
})

it('does not show the old state of a lost sidecar', () => {
  const lines = shown({}, board(['no response']))
  expect(lines.filter((line) => line === ' no sidecar is connected')).toHaveLength(3)
})

it('shows help instead of the numbers', () => {
  const text = shown({ help: true }).join('\n')
  expect(text).toContain('IDLE  ')
  expect(text).not.toContain('slow-search')
})
