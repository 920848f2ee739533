import { topLive } from './live-screen.ts'
import type { AdminEndpoint } from '#admin-api'
import type { Board, SidecarView } from './sidecar-view.ts'
import { onStopSignal, type Output, paintLine, plainText } from '#cli'
import { type FeedOptions, watchFleet } from './feed.ts'
import { combine, differingDigests } from './combined.ts'
import { shortDigest, widthOf } from '#base'
import { count, rate, sampledCalls } from './figures.ts'
import { renderReport } from './screen/screen.ts'
import { type Rates, RATES } from './rates.ts'
import type { TopRequest } from '../commands/top.ts'

/** Shows sidecars on a screen, as lines, or as JSON; resolves to the exit code. */
export function top(options: TopRequest): Promise<number> {
  const { endpoints, json, once, token, readToken, noColour, dumb } = options
  const { stdout: output, stdin: input } = process
  const isScreen = output.isTTY && !dumb
  const colours = isScreen && !noColour
  if (once) {
    const width = widthOf(output)
    // The reader may close the pipe.
    output.on('error', () => undefined)
    const write = (text: string): void => void output.write(text)
    return topOnce({ endpoints, readToken, json, colours, width, write })
  }
  if (json || !isScreen) return topLines(endpoints, json, output, { readToken })
  return topLive({ endpoints, token, readToken, colours, output, input })
}

const EVERY_MS = 1_000

/** Writes the state once a second until a stop signal, or until the reader closes the pipe. */
export function topLines(
  endpoints: readonly AdminEndpoint[],
  json: boolean,
  output: Output,
  options?: FeedOptions,
): Promise<number> {
  return new Promise((resolve) => {
    const fleet = watchFleet(endpoints, () => undefined, options)
    const timer = setInterval(() => {
      fleet.tick()
      // A slow reader misses updates: output is not queued.
      if (output.writableNeedDrain === true) return
      output.write(json ? jsonLine(fleet.board()) : plainLines(fleet.board()))
    }, EVERY_MS)
    const stop = (): void => {
      clearInterval(timer)
      removeHandlers()
      fleet.close()
      resolve(0)
    }
    const removeHandlers = onStopSignal(stop)
    output.on('error', stop)
  })
}

/** Formats one line per sidecar, for output that is not a terminal. */
function plainLines({ at, sidecars }: Board): string {
  const differing = differingDigests(sidecars).length > 0
  return sidecars.map((view) => `${at} ${view.address} ${sidecarText(view, differing)}\n`).join('')
}

function sidecarText(view: SidecarView, differing: boolean): string {
  const { link, problem, snapshot, rates } = view
  if (link === 'lost') return `LOST, trying again: ${problem}`
  if (snapshot === undefined) return 'connecting'
  const { armed, reasons, digest, generation } = snapshot
  const rejected = snapshot.lastReload?.result === 'rejected' ? ' last-reload=REJECTED' : ''
  return [
    armed
      ? 'armed'
      : `DISARMED (${reasons.map(({ by, reason }) => `${by}: ${reason}`).join('; ')})`,
    `rules=${shortDigest(digest)} g${generation}${differing ? ' DIFFERENT' : ''}${rejected}`,
    `calls/s=${rate(rates?.calls)}`,
    `injected/s=${rate(rates?.injected)}`,
    `real/s=${rate(rates?.real)}`,
    `sampled=${count(sampledCalls(view))}`,
  ].join(' ')
}

interface OnceOptions {
  readonly endpoints: readonly AdminEndpoint[]
  readonly readToken?: string | undefined
  readonly json: boolean
  readonly colours: boolean
  readonly width: number
  readonly write: (text: string) => void
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 5_000

/** Writes the state once; resolves to 1 when a sidecar is not connected. */
export async function topOnce(options: OnceOptions): Promise<number> {
  const { json, colours, width, write, timeoutMs = TIMEOUT_MS } = options
  const board = await awaitBoard(options, timeoutMs)
  const lines = json ? [] : renderReport(board, width)
  if (json) write(jsonLine(board))
  else if (!colours) write(plainText(lines))
  else write(lines.map((line) => `${paintLine(line, true)}\n`).join(''))
  return board.sidecars.every(({ link }) => link === 'live') ? 0 : 1
}

/** Resolves when every sidecar has rates or is lost, or after the timeout. */
function awaitBoard({ endpoints, readToken }: OnceOptions, timeoutMs: number): Promise<Board> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      const board = fleet.board()
      fleet.close()
      resolve(board)
    }
    const timer = setTimeout(end, timeoutMs)
    const changed = (): void => {
      const { sidecars } = fleet.board()
      if (sidecars.every(({ link, rates }) => link === 'lost' || rates !== undefined)) end()
    }
    const fleet = watchFleet(endpoints, changed, { readToken })
  })
}

const MAX_LISTED = 20

/** Formats the state of all sidecars as one line of JSON. */
function jsonLine(board: Board): string {
  const { rules, tools, errors, faults, digests, rates } = combine(board.sidecars)
  const shown = {
    at: board.at,
    sidecars: board.sidecars.map(showSidecar),
    differentRules: digests.length > 0,
    perSecond: showRates(rates),
    rules,
    tools: tools.map(({ rates: ofTool, ...tool }) => ({ ...tool, perSecond: showRates(ofTool) })),
    errors: errors.slice(0, MAX_LISTED),
    faults: faults.slice(0, MAX_LISTED),
  }
  return `${JSON.stringify(shown)}\n`
}

function showSidecar(view: SidecarView): object {
  const { address, link, problem, snapshot, rates } = view
  const lost = { address, link, problem: problem === '' ? null : problem }
  // A state from before the connection was lost is not shown as the current state.
  if (link !== 'live' || snapshot === undefined) return lost
  const { version, environment, armed, reasons, dryRun, activeFaults, digest, generation } =
    snapshot
  return {
    ...lost,
    version,
    environment: environment === '' ? null : environment,
    armed,
    reasons,
    dryRun,
    activeFaults,
    digest: digest === '' ? null : digest,
    generation,
    ruleCount: snapshot.ruleCount,
    lastReload: snapshot.lastReload ?? null,
    sampled: sampledCalls(view),
    faultsTotal: snapshot.faults.total,
    perSecond: showRates(rates),
  }
}

function showRates(rates: Rates | undefined): object | null {
  if (rates === undefined) return null
  const round = (value: number): number => Math.round(value * 1_000) / 1_000
  return Object.fromEntries(RATES.map((name) => [name, round(rates[name])]))
}
