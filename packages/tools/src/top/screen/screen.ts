import { cells, fitLine, type Line, span, textLine } from '#cli'
import type { Board } from '../sidecar-view.ts'
import { type Controls, INITIAL_CONTROLS } from '../controls.ts'
import { type Combined, combine, differingDigests } from '../combined.ts'
import { sorted } from '../sorting.ts'
import { shortDigest } from '#base'
import { timeOfDay } from '../figures.ts'
import { helpLines } from './help.ts'
import { errorLines, faultLines, isIdle, ruleLines, toolLines, trafficLines } from './tables.ts'
import type { Table } from './table.ts'
import { type NumberedSidecar, sidecarLines } from './sidecars.ts'

/** Configures the screen. */
export interface ScreenOptions extends Omit<Controls, 'pending'> {
  readonly width: number
  readonly height: number
}

/** Distributes rows evenly among tables; rows that one table does not need go to the others. */
function distributeRows(room: number, wanted: readonly number[]): readonly number[] {
  const given = wanted.map(() => 0)
  let left = room
  for (let gave = true; gave && left > 0;) {
    gave = false
    for (const [i, most] of wanted.entries()) {
      if (left <= 0 || given[i]! >= most) continue
      given[i]!++
      left--
      gave = true
    }
  }
  return given
}

/** Returns the first rows, followed by the number of hidden rows if any. */
function cutRows(
  rows: readonly Line[],
  room: number,
  more: (shown: number) => string,
): readonly Line[] {
  if (rows.length <= room) return rows
  if (room < 1) return []
  return [...rows.slice(0, room - 1), textLine(`… ${more(room - 1)}`, 'quiet')]
}

const KEYS = '? help  q quit  s sort  tab ↑↓ scroll  p pause  1-9 sidecar  d disarm  a arm'
const MIN_WIDTH = 40
// The time stays near the title on a wide screen.
const MAX_TITLE = 120
// Also applies to a screen of infinite height.
const MAX_FAULTS = 20

/** Renders the screen, at most `height` lines. */
export function renderScreen(board: Board, screen: ScreenOptions): readonly Line[] {
  const width = Math.max(MIN_WIDTH, screen.width)
  const foot = screen.notice === '' ? textLine(KEYS, 'quiet') : textLine(screen.notice, 'strong')
  const room = Math.max(0, screen.height - 2)
  const body = screen.help
    ? helpLines()
    : screen.table > 0
      ? tableLines(board, screen, width, room)
      : bodyLines(board, screen, width, room)
  const kept = body.slice(0, room)
  const space = Number.isFinite(room) ? Array.from({ length: room - kept.length }, () => []) : []
  const lines = [titleLine(board, screen, width), ...kept, ...space, foot]
  return lines.slice(0, screen.height).map((line) => fitLine(line, screen.width - 1))
}

/** Renders the state without a screen: all rows, and no keys. */
export function renderReport(board: Board, width: number): readonly Line[] {
  const screen = { ...INITIAL_CONTROLS, width, height: Infinity }
  return renderScreen(board, screen).slice(0, -1)
}

function titleLine(board: Board, screen: ScreenOptions, width: number): Line {
  const { focus, paused, sorting } = screen
  const { sidecars } = board
  const left = ` squall top  ${summary(board, focus)}`
  const state = `${sorting === 'usual' ? '' : `by ${sorting}  `}${paused ? 'PAUSED  ' : ''}`
  const time = `${timeOfDay(board.at)} UTC`
  const right = cells(left + state + time) + 2 < width ? state + time : state.trimEnd()
  const gap = Math.max(2, Math.min(width, MAX_TITLE) - 1 - cells(left) - right.length)
  const isBad = sidecars.some(({ link }) => link === 'lost')
  return [
    span(left, 'strong'),
    span(' '.repeat(gap)),
    span(right, paused || isBad ? 'warn' : 'quiet'),
  ]
}

function summary({ sidecars }: Board, focus: number): string {
  if (sidecars[focus - 1] !== undefined) return `sidecar ${focus} of ${sidecars.length}`
  const armed = sidecars.filter((each) => each.link === 'live' && each.snapshot?.armed === true)
  const lost = sidecars.filter(({ link }) => link === 'lost').length
  const parts = [`${armed.length} armed`, ...(lost > 0 ? [`${lost} lost`] : [])].join(', ')
  return `${sidecars.length} ${sidecars.length === 1 ? 'sidecar' : 'sidecars'}, ${parts}`
}

interface TitledTable extends Table {
  /** Shown without rows. */
  readonly empty: string
  readonly more: (from: number) => string
}

function tablesOf(board: Board, { focus, sorting }: ScreenOptions, width: number) {
  const one = board.sidecars[focus - 1]
  const shown = one === undefined ? board.sidecars : [one]
  const combined = sorted(combine(shown), sorting)
  const live = shown.filter(({ link }) => link === 'live').length
  const titled = (table: Table, empty: string, more?: TitledTable['more']): TitledTable => ({
    ...table,
    empty: live === 0 ? 'no sidecar is connected' : empty,
    more: more ?? ((from) => `${table.rows.length - from} more`),
  })
  const { rules, tools, errors, faults } = combined
  return {
    combined,
    tables: [
      titled(ruleLines(rules, live, width), 'no rule is active', (from) => moreRules(rules, from)),
      titled(toolLines(tools, width), 'no completed calls yet'),
      titled(errorLines(errors, width), 'no errors yet'),
      titled(faultLines(faults.slice(0, MAX_FAULTS), width), 'no injected faults yet'),
    ],
  }
}

function bodyLines(
  board: Board,
  screen: ScreenOptions,
  width: number,
  room: number,
): readonly Line[] {
  const { combined, tables } = tablesOf(board, screen, width)
  const top = [...topLines(board, screen, width, room), [], ...trafficLines(combined, width)]
  // Each table has a blank line and a heading.
  const left = Number.isFinite(room) ? room - top.length - 2 * tables.length : 1e9
  const wanted = tables.map(({ rows }) => Math.max(1, rows.length))
  const given = distributeRows(left, wanted)
  return [
    ...top,
    ...tables.flatMap(({ head, rows, empty, more }, i) => [
      [],
      head,
      ...(rows.length === 0
        ? [textLine(empty, 'quiet')].slice(0, given[i])
        : cutRows(rows, given[i]!, more)),
    ]),
  ]
}

/** Renders one table alone, from the row to which the user scrolled. */
function tableLines(
  board: Board,
  screen: ScreenOptions,
  width: number,
  room: number,
): readonly Line[] {
  const { head, rows, empty } = tablesOf(board, screen, width).tables[screen.table - 1]!
  if (rows.length === 0) return [head, textLine(empty, 'quiet')]
  const from = Math.min(screen.scroll, lastScroll(rows.length, room))
  const shown = rows.slice(from, from + room - 2)
  const place = `${from + 1} to ${from + shown.length} of ${rows.length}`
  return [head, ...shown, textLine(place, 'quiet')]
}

function lastScroll(rows: number, room: number): number {
  return Math.max(0, rows - (room - 2))
}

/** Returns the row to which the table that is shown alone can be scrolled at most. */
export function mostScroll(board: Board, screen: ScreenOptions): number {
  const table = tablesOf(board, screen, screen.width).tables[screen.table - 1]
  return table === undefined ? 0 : lastScroll(table.rows.length, screen.height - 2)
}

/** Lists the sidecars in at most a third of the screen. */
function topLines(
  board: Board,
  { focus }: ScreenOptions,
  width: number,
  room: number,
): readonly Line[] {
  const all = board.sidecars.map((view, i): NumberedSidecar => ({ number: i + 1, view }))
  const one = all[focus - 1]
  const digests = differingDigests(board.sidecars)
  const { head, blocks } = sidecarLines(one === undefined ? all : [one], digests.length > 0, width)
  const lines = [...warning(digests), head]
  const most = Math.max(4, Math.floor(room / 3))
  let used = lines.length
  for (const [i, block] of blocks.entries()) {
    used += block.length
    const isLast = i === blocks.length - 1
    if (i > 0 && used + (isLast ? 0 : 1) > most) {
      lines.push(textLine(`… ${blocks.length - i} more sidecars`, 'warn'))
      break
    }
    lines.push(...block)
  }
  return lines
}

function warning(digests: Combined['digests']): readonly Line[] {
  if (digests.length === 0) return []
  const parts = digests.map(
    ({ digest, sidecars }) => `${shortDigest(digest)} in ${sidecars.join(' ')}`,
  )
  return [textLine(`≠ DIFFERENT RULES: ${parts.join(', ')}`, 'bad')]
}

function moreRules(rules: Combined['rules'], from: number): string {
  const hidden = rules.slice(from)
  const idle = hidden.filter(isIdle).length
  return `${hidden.length} more${idle > 0 ? `, ${idle} of them idle` : ''}`
}
