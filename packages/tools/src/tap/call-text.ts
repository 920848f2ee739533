import { isError, type TappedCall } from '#admin-api'
import { latency, type Tone } from '#base'
import { type Line, pad, span } from '#cli'

const TIME = 12
const NAME = 24
const CLIENT = 18
const SESSION = 8
const LATENCY = 9
const OUTCOME = 17
/** The origin as one word: the last one of `injected_elsewhere`. */
const ORIGIN = 9
/** From this width on, client and session are columns; below, they follow where they are known. */
const WIDE = 120

/** Returns the names of the columns. */
export function headText(width: number): Line {
  const who = width < WIDE ? ['CLIENT SESSION'] : [pad('CLIENT', CLIENT), pad('SESSION', SESSION)]
  return row(['TIME (UTC)', 'CALL', 'LATENCY', 'OUTCOME', 'ORIGIN'], [...who, 'FAULTS SIZE TRACE'])
}

/** Formats a call as one line; `address` stands in front where there are several sidecars. */
export function callText(call: TappedCall, width: number, address?: string): Line {
  const { at, tool, method, outcome, origin, status, code, durationMs, client, session } = call
  const number = status ?? code
  const cells = [
    (at ?? '').slice(11, 23),
    tool ?? method,
    durationMs === undefined ? '-' : latency(durationMs),
    number === undefined ? outcome : `${outcome} ${number}`,
    origin,
  ]
  const who =
    width < WIDE
      ? [client, session].filter((text) => text !== undefined)
      : [pad(client ?? '-', CLIENT), pad(session ?? '-', SESSION)]
  const line = row(cells, [...who, ...details(call)], toneOf(call))
  return address === undefined ? line : [span(`${address}  `, 'quiet'), ...line]
}

function row(cells: readonly string[], rest: readonly string[], tone: Tone = 'quiet'): Line {
  const [time = '', call = '', took = '', outcome = '', origin = ''] = cells
  return [
    span(`${pad(time, TIME)}  `, 'quiet'),
    span(`${pad(call, NAME)}  `, tone === 'quiet' ? tone : 'strong'),
    span(`${pad(took, LATENCY, 'right')}  `),
    span(`${pad(outcome, OUTCOME)}  ${pad(origin.slice(-ORIGIN), ORIGIN)}  `, tone),
    span(rest.join('  '), 'quiet'),
  ]
}

function toneOf({ outcome, origin }: TappedCall): Tone {
  if (!isError(outcome)) return 'good'
  return origin.startsWith('injected') ? 'injected' : 'bad'
}

function details({ faults = [], changed, resultBytes, trace }: TappedCall): readonly string[] {
  return [
    ...faults.map(({ rule, fault }) => `${rule}/${fault}`),
    ...(changed === true ? ['changed'] : []),
    ...(resultBytes === undefined ? [] : [`${resultBytes} B`]),
    ...(trace === undefined ? [] : [`trace ${trace}`]),
  ]
}
