import { type Line, cells, fitLine, span, textLine } from './line.ts'
import type { Board } from '../sidecar-view.ts'
import type { Controls } from '../controls.ts'
import { type Combined, combine, differingDigests } from '../combined.ts'
import { shortDigest } from '../../../base/digest.ts'
import { timeOfDay } from '../figures.ts'
import { faultLines, isIdle, ruleLines, toolLines, trafficLines } from './tables.ts'
import { type NumberedSidecar, sidecarLines } from './sidecars.ts'

const TEXT = `
q      quit, as Ctrl-C
p      pause: freeze the screen; updates received meanwhile are kept
1 … 9  show one sidecar alone        0      show all of them again
d      disarm: stop injecting faults (asks first, needs the admin token)
a      arm: undo a disarming by an operator or the guard (the same)
?      this help, and back

INJ/S, INJECTED  errors that faults made
REAL/S, REAL     errors of the MCP server, without a fault
SQUALL           errors that Squall made itself, for example when the server cannot be reached
MATCHED          calls that rules match; SAMPLED: chosen among them; INJECTED: a fault took effect
g3               the third version of the rules in that process
≠                the sidecars have different rules: screen at their digests
IDLE             the rule is active and sampled no call yet: check its match

Rates cover the last second. Other counts begin at the start, those of rules at their version.
Times are UTC.`

function helpLines(): readonly Line[] {
  return TEXT.split('\n').map((text) => (text === '' ? [] : textLine(text)))
}

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
    if (wanted.every((most, i) => given[i]! >= most)) break
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

const KEYS = 'q quit  p pause  d disarm  a arm  1-9 one sidecar  0 all  ? help'
const MIN_WIDTH = 40
// Also applies to a screen of infinite height.
const MAX_FAULTS = 20

/** Renders the screen, at most `height` lines. */
export function renderScreen(board: Board, screen: ScreenOptions): readonly Line[] {
  const width = Math.max(MIN_WIDTH, screen.width)
  const foot = screen.notice === '' ? textLine(KEYS, 'quiet') : textLine(screen.notice, 'strong')
  const room = Math.max(0, screen.height - 2)
  const body = screen.help ? helpLines() : bodyLines(board, screen, width, room)
  const kept = body.slice(0, room)
  const space = Number.isFinite(room) ? Array.from({ length: room - kept.length }, () => []) : []
  const lines = [titleLine(board, screen, width), ...kept, ...space, foot]
  return lines.slice(0, screen.height).map((line) => fitLine(line, screen.width - 1))
}

/** Renders the state without a screen: all rows, and no keys. */
export function renderReport(board: Board, width: number): readonly Line[] {
  const screen = { width, height: Infinity, focus: 0, paused: false, help: false, notice: '' }
  return renderScreen(board, screen).slice(0, -1)
}

function titleLine(board: Board, { focus, paused }: ScreenOptions, width: number): Line {
  const { sidecars } = board
  const left = ` squall top  ${summary(board, focus)}`
  const right = `${paused ? 'PAUSED  ' : ''}${timeOfDay(board.at)} UTC`
  const gap = Math.max(2, width - 1 - cells(left) - right.length)
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

function bodyLines(
  board: Board,
  screen: ScreenOptions,
  width: number,
  room: number,
): readonly Line[] {
  const one = board.sidecars[screen.focus - 1]
  const shown = one === undefined ? board.sidecars : [one]
  const combined = combine(shown)
  const top = [...topLines(board, screen, width, room), [], ...trafficLines(combined, width)]
  const live = shown.filter(({ link }) => link === 'live').length
  const rules = ruleLines(combined.rules, live, width)
  const tools = toolLines(combined.tools, width)
  const faults = faultLines(combined.faults.slice(0, MAX_FAULTS), width)
  const tables = [rules, tools, faults]
  // Each table has a blank line and a heading.
  const left = Number.isFinite(room) ? room - top.length - 2 * tables.length : 1e9
  const wanted = tables.map(({ rows }) => Math.max(1, rows.length))
  const given = distributeRows(left, wanted)
  const empty =
    live === 0
      ? tables.map(() => 'no sidecar is connected')
      : ['no rule is active', 'no call has ended yet', 'no fault has taken effect yet']
  const more = [
    (from: number) => moreRules(combined, from),
    (from: number) => `${combined.tools.length - from} more`,
    (from: number) => `${faults.rows.length - from} more`,
  ]
  return [
    ...top,
    ...tables.flatMap(({ head, rows }, i) => [
      [],
      head,
      ...(rows.length === 0
        ? [textLine(empty[i]!, 'quiet')].slice(0, given[i])
        : cutRows(rows, given[i]!, more[i]!)),
    ]),
  ]
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

function moreRules({ rules }: Combined, from: number): string {
  const hidden = rules.slice(from)
  const idle = hidden.filter(isIdle).length
  return `${hidden.length} more${idle > 0 ? `, ${idle} of them idle` : ''}`
}
