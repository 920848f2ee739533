import { isError, type TappedCall } from '#admin-api'
import { latency, type Tone } from '#base'
import { fitLine, type Line, pad, span } from '#cli'

const CLIENT = 18
const SESSION = 8
const LATENCY = 9
/** The origin as one word: the last one of `injected_elsewhere`. */
const ORIGIN = 9
/** From this width on, client and session are columns; below, they come last where they are known. */
const WIDE = 120
/** Below this width, times have no fractions, and names are shorter. */
const NARROW = 110

/** The widths of time, call and outcome. */
const widths = (width: number): readonly number[] => (width < NARROW ? [8, 15, 14] : [12, 24, 17])

/** Returns the names of the columns. */
export function headText(width: number): Line {
  const head = [width < NARROW ? 'UTC' : 'TIME (UTC)', 'CALL', 'LATENCY', 'OUTCOME', 'ORIGIN']
  const who = [pad('CLIENT', CLIENT), pad('SESSION', SESSION), 'FAULTS SIZE TRACE']
  return fitLine(row(head, width < WIDE ? ['FAULTS SIZE CLIENT'] : who, width), width - 1)
}

/** Formats a call as one line, which begins with `address` when there are several sidecars. */
export function callText(call: TappedCall, width: number, address?: string): Line {
  const { at, tool, method, outcome, origin, status, code, durationMs, client, session } = call
  const { trace, traceUrl } = call
  const number = status ?? code
  const cells = [
    (at ?? '').slice(11, 23),
    tool ?? method,
    durationMs === undefined ? '-' : latency(durationMs),
    number === undefined ? outcome : `${outcome} ${number}`,
    origin,
  ]
  const rest =
    width < WIDE
      ? [...details(call), client, session].filter((text) => text !== undefined)
      : [pad(client ?? '-', CLIENT), pad(session ?? '-', SESSION), ...details(call)]
  const shown = row(cells, rest, width, toneOf(call))
  const line = trace === undefined ? shown : [...shown, span(`  trace ${trace}`, 'quiet', traceUrl)]
  // What does not fit is the end of a line, and no further line.
  return fitLine(address === undefined ? line : [span(`${address}  `, 'quiet'), ...line], width - 1)
}

function row(
  cells: readonly string[],
  rest: readonly string[],
  width: number,
  tone: Tone = 'quiet',
): Line {
  const [timeWidth = 0, nameWidth = 0, outcomeWidth = 0] = widths(width)
  const [time = '', call = '', took = '', outcome = '', origin = ''] = cells
  return [
    span(`${pad(time.slice(0, timeWidth), timeWidth)}  `, 'quiet'),
    span(`${pad(call, nameWidth)}  `, tone === 'quiet' ? tone : 'strong'),
    span(`${pad(took, LATENCY, 'right')}  `),
    span(`${pad(outcome, outcomeWidth)}  ${pad(origin.slice(-ORIGIN), ORIGIN)}  `, tone),
    span(rest.join('  '), 'quiet'),
  ]
}

function toneOf({ outcome, origin }: TappedCall): Tone {
  if (!isError(outcome)) return 'good'
  return origin.startsWith('injected') ? 'injected' : 'bad'
}

function details({ faults = [], changed, resultBytes }: TappedCall): readonly string[] {
  return [
    ...faults.map(({ rule, fault }) => `${rule}/${fault}`),
    ...(changed === true ? ['changed'] : []),
    ...(resultBytes === undefined ? [] : [`${resultBytes} B`]),
  ]
}
