import {
  API,
  checkResponse,
  type Endpoint,
  endpointText,
  openEvents,
  PASS_ADMIN_PORT,
  type ResponseOf,
} from '#admin-api'
import { fieldsOf, foreignCell, numberOf, plain, widthOf } from '#base'
import { type Line, onStopSignal, type Output, paintLine } from '#cli'
import type { FollowRequest } from '../commands/tap.ts'
import { callText, headText } from './call-text.ts'
import { verdictHead, verdictText } from './verdict-text.ts'

/** A stream of lines, and how a terminal shows it. */
interface Lines<E extends Endpoint> {
  readonly endpoint: E
  /** The command that reads it. */
  readonly client: string
  /** Names the lines in messages. */
  readonly what: string
  /** Explains a port without the stream. */
  readonly missing?: string
  readonly head: (width: number) => Line
  readonly show: (line: ResponseOf<E>, width: number, address: string | undefined) => Line
}

const CALLS: Lines<typeof API.tap> = {
  endpoint: API.tap,
  client: 'tap',
  what: 'calls',
  head: headText,
  show: callText,
}
const VERDICTS: Lines<typeof API.verdicts> = {
  endpoint: API.verdicts,
  client: 'agents',
  what: 'verdicts',
  missing: 'does not watch agents: start squall run or squall stdio without --tasks=false',
  head: verdictHead,
  show: (line, _, address) => verdictText(line, address),
}

type Problems = Pick<Output, 'write'>

const SILENCE_MS = 10_000
/** The bytes that wait for a slow reader of the output; further calls are dropped and counted. */
const MAX_WAITING = 1024 * 1024
const MAX_CELL = 120

type TapOutput = Output & { readonly writableLength?: number }

/** Writes single calls as they end, until the limit, a stop signal, or the end of the output. */
export function tap(
  options: FollowRequest,
  output?: TapOutput,
  problems?: Problems,
): Promise<number> {
  return follow(CALLS, options, output, problems)
}

/** Writes what agents do after faults, in the same way. */
export function followVerdicts(
  options: FollowRequest,
  output?: TapOutput,
  problems?: Problems,
): Promise<number> {
  return follow(VERDICTS, options, output, problems)
}

type Say = (from: string, text: string) => void

function follow<E extends Endpoint>(
  lines: Lines<E>,
  options: FollowRequest,
  output: TapOutput = process.stdout,
  problems: Problems = process.stderr,
): Promise<number> {
  const { endpoint, what, head, show } = lines
  const { endpoints, limit, json, colours } = options
  const say: Say = (from, text) => void problems.write(`squall: ${from}: ${text}\n`)
  const width = (): number => (output.isTTY === true ? widthOf(output, Infinity) : Infinity)
  const textOf = (line: ResponseOf<E>, from: string | undefined): string =>
    json
      ? JSON.stringify(from === undefined ? line : { sidecar: from, ...(line as object) })
      : paintLine(show(line, width(), from), colours).trimEnd()
  return new Promise((resolve, reject) => {
    let shown = 0
    let unwritten = 0
    const stop = (error?: Error): void => {
      removeHandlers()
      closeStreams()
      if (unwritten > 0) say('output', `${unwritten} ${what} were dropped: the reader is too slow`)
      return error === undefined ? resolve(0) : reject(error)
    }
    const onLine = (address: string, value: unknown): void => {
      if (shown >= limit) return
      if ((output.writableLength ?? 0) > MAX_WAITING) {
        unwritten++
        return
      }
      const line = checkResponse(endpoint, value, json ? plain : cell)
      output.write(`${textOf(line, endpoints.length > 1 ? address : undefined)}\n`)
      if (++shown >= limit) stop()
    }
    const removeHandlers = onStopSignal(() => stop())
    output.on('error', () => stop())
    if (!json && output.isTTY === true) output.write(`${paintLine(head(width()), colours)}\n`)
    const closeStreams = openStreams(lines, options, say, onLine, stop)
  })
}

/** Opens the streams of all sidecars; fails where none of them was ever there. */
function openStreams<E extends Endpoint>(
  { endpoint, client, what, missing }: Lines<E>,
  { endpoints, readToken, query }: FollowRequest,
  say: Say,
  onLine: (address: string, value: unknown) => void,
  fail: (error: Error) => void,
): () => void {
  const path = query === '' ? endpoint.path : `${endpoint.path}?${query}`
  const options = { client, silenceMs: SILENCE_MS, ...(missing !== undefined && { missing }) }
  let lost = 0
  const streams = endpoints.map(endpointText).map((address) => {
    const onEvent = (data: string, event: string | undefined): void => {
      const value: unknown = JSON.parse(data)
      if (event !== 'dropped') return onLine(address, value)
      const dropped = numberOf(fieldsOf(value)['dropped'])
      say(address, `${dropped} ${what} were dropped: they arrived too fast; use narrower filters`)
    }
    const onLost = (problem: string, opened: boolean): void => {
      if (opened) return say(address, `lost, trying again: ${problem}`)
      // Another port does not help where the sidecar serves no such stream.
      const text = problem === missing ? problem : `${problem}; ${PASS_ADMIN_PORT}`
      // A sidecar that was never there is an error in the command line.
      if (++lost < endpoints.length) say(address, text)
      else fail(new Error(`${address}: ${text}`))
    }
    const admin = { url: new URL(`http://${address}`), readToken }
    return openEvents(admin, path, { onEvent, onLost }, options)
  })
  return () => streams.forEach((stream) => stream.close())
}

function cell(text: string): string {
  return foreignCell(text, MAX_CELL)
}
