import {
  type AdminEndpoint,
  API,
  checkResponse,
  type Endpoint,
  endpointText,
  openEvents,
  PASS_ADMIN_PORT,
  type ResponseOf,
} from '#admin-api'
import { fieldsOf, foreignCell, numberOf, plain } from '#base'
import { type Line, onStopSignal, type Output, paintLine } from '#cli'
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

export interface TapOptions {
  readonly endpoints: readonly AdminEndpoint[]
  /** The token for sidecars that require a read token. */
  readonly readToken?: string | undefined
  /** The filters, as the admin port takes them. */
  readonly query: string
  /** The number of lines after which it ends; Infinity without a limit. */
  readonly limit: number
  readonly json: boolean
  readonly colours: boolean
}

/** Receives problems. */
export interface Problems {
  write(text: string): unknown
}

const SILENCE_MS = 10_000
/** The bytes that wait for a slow reader of the output; further calls are dropped and counted. */
const MAX_WAITING = 1024 * 1024
const MAX_CELL = 120
/** Adds the fix, which a sidecar that serves no such stream does not need. */
const withFix = (problem: string, missing: string | undefined): string =>
  problem === missing ? problem : `${problem}; ${PASS_ADMIN_PORT}`

type TapOutput = Output & { readonly writableLength?: number }

/** Writes single calls as they end, until the limit, a stop signal, or the end of the output. */
export function tap(options: TapOptions, output?: TapOutput, problems?: Problems): Promise<number> {
  return follow(CALLS, options, output, problems)
}

/** Writes what agents do after faults, in the same way. */
export function followVerdicts(
  options: TapOptions,
  output?: TapOutput,
  problems?: Problems,
): Promise<number> {
  return follow(VERDICTS, options, output, problems)
}

function follow<E extends Endpoint>(
  { endpoint, client, what, missing, head, show }: Lines<E>,
  options: TapOptions,
  output: TapOutput = process.stdout,
  problems: Problems = process.stderr,
): Promise<number> {
  const { endpoints, readToken, query, limit, json, colours } = options
  const several = endpoints.length > 1
  const say = (address: string, text: string): void =>
    void problems.write(`squall: ${address}: ${text}\n`)
  return new Promise((resolve, reject) => {
    let shown = 0
    let unwritten = 0
    let lost = 0
    const streams: { close(): void }[] = []
    const stop = (error?: Error): void => {
      removeHandlers()
      for (const stream of streams) stream.close()
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
      output.write(`${lineOf(line, several ? address : undefined)}\n`)
      if (++shown >= limit) stop()
    }
    const width = (): number => (output.isTTY === true ? (output.columns ?? Infinity) : Infinity)
    const lineOf = (line: ResponseOf<E>, address: string | undefined): string =>
      json
        ? JSON.stringify(address === undefined ? line : { sidecar: address, ...(line as object) })
        : paintLine(show(line, width(), address), colours).trimEnd()
    const removeHandlers = onStopSignal(() => stop())
    output.on('error', () => stop())
    if (!json && output.isTTY === true) output.write(`${paintLine(head(width()), colours)}\n`)
    for (const { host, port } of endpoints) {
      const address = endpointText({ host, port })
      const onEvent = (data: string, event: string | undefined): void => {
        const value: unknown = JSON.parse(data)
        if (event !== 'dropped') return onLine(address, value)
        const dropped = numberOf(fieldsOf(value)['dropped'])
        say(address, `${dropped} ${what} were dropped: they arrived too fast; use narrower filters`)
      }
      const onLost = (problem: string, opened: boolean): void => {
        if (opened) return say(address, `lost, trying again: ${problem}`)
        // A sidecar that was never there is an error in the command line.
        if (++lost < endpoints.length) say(address, withFix(problem, missing))
        else stop(new Error(`${address}: ${withFix(problem, missing)}`))
      }
      const admin = { url: new URL(`http://${address}`), readToken }
      const listener = { onEvent, onLost }
      const path = query === '' ? endpoint.path : `${endpoint.path}?${query}`
      streams.push(
        openEvents(admin, path, listener, {
          client,
          silenceMs: SILENCE_MS,
          ...(missing !== undefined && { missing }),
        }),
      )
    }
  })
}

function cell(text: string): string {
  return foreignCell(text, MAX_CELL)
}
