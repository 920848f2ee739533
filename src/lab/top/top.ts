import { topLive } from './live-screen.ts'
import type { Board, Place, SidecarView } from './sidecar-view.ts'
import { type Input, type Output, onStopSignal } from './terminal.ts'
import type { FeedOptions } from './feed.ts'
import { watchFleet } from './fleet.ts'
import { jsonLine } from './json-line.ts'
import { differingDigests } from './combined.ts'
import { count, rate, sampledCalls, shortDigest } from './figures.ts'
import { paintLine, plainText } from './screen/line.ts'
import { renderReport } from './screen/screen.ts'

/** The options of `squall top`. */
export interface TopOptions {
  readonly places: readonly Place[]
  readonly json: boolean
  readonly once: boolean
  /** The read token, for sidecars that ask for one. */
  readonly readToken?: string | undefined
  /** The token for arming and disarming. */
  readonly token: string | undefined
  /** True when the environment asks for no colours. */
  readonly noColour: boolean
  /** True for a terminal without control sequences. */
  readonly dumb: boolean
}

const NO_TERMINAL_WIDTH = 80

/** Shows sidecars in the way that fits where it is shown; the result is the exit code. */
export function top(
  { places, json, once, token, readToken, noColour, dumb }: TopOptions,
  output: Output = process.stdout,
  input: Input = process.stdin,
): Promise<number> {
  const isScreen = output.isTTY === true && !dumb
  const colours = isScreen && !noColour
  if (once) {
    const width = output.columns ?? NO_TERMINAL_WIDTH
    // The reader closed the pipe.
    output.on('error', () => undefined)
    const write = (text: string): void => void output.write(text)
    return topOnce({ places, readToken, json, colours, width, write })
  }
  if (json || !isScreen) return topLines(places, json, output, { readToken })
  return topLive({ places, token, readToken, colours, output, input })
}

const EVERY_MS = 1_000

/** Writes the state once a second, until it is stopped or the reader closes the pipe. */
export function topLines(
  places: readonly Place[],
  json: boolean,
  output: Output,
  options?: FeedOptions,
): Promise<number> {
  return new Promise((resolve) => {
    const fleet = watchFleet(places, () => undefined, options)
    const timer = setInterval(() => {
      fleet.tick()
      // A slow reader misses updates: nothing is queued for it.
      if (output.writableNeedDrain === true) return
      output.write(json ? jsonLine(fleet.board()) : plainLines(fleet.board()))
    }, EVERY_MS)
    const stop = (): void => {
      clearInterval(timer)
      letGo()
      fleet.close()
      resolve(0)
    }
    const letGo = onStopSignal(stop)
    output.on('error', stop)
  })
}

/** One line for each sidecar, for what is no terminal. */
function plainLines({ at, sidecars }: Board): string {
  const differing = differingDigests(sidecars).length > 0
  return sidecars.map((view) => `${at} ${view.address} ${said(view, differing)}\n`).join('')
}

function said(view: SidecarView, differing: boolean): string {
  const { link, problem, snapshot, rates } = view
  if (link === 'lost') return `LOST, trying again: ${problem}`
  if (snapshot === undefined) return 'connecting'
  const { armed, reasons, digest, generation } = snapshot
  const refused = snapshot.lastReload?.result === 'rejected' ? ' last-reload=REJECTED' : ''
  return [
    armed
      ? 'armed'
      : `DISARMED (${reasons.map(({ by, reason }) => `${by}: ${reason}`).join('; ')})`,
    `rules=${shortDigest(digest)} g${generation}${differing ? ' DIFFERENT' : ''}${refused}`,
    `calls/s=${rate(rates?.calls)}`,
    `injected/s=${rate(rates?.injected)}`,
    `real/s=${rate(rates?.real)}`,
    `sampled=${count(sampledCalls(view))}`,
  ].join(' ')
}

/** Configures a single output. */
export interface OnceOptions {
  readonly places: readonly Place[]
  readonly readToken?: string | undefined
  readonly json: boolean
  readonly colours: boolean
  readonly width: number
  readonly write: (text: string) => void
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 5_000

/** Shows one moment; the result is 1 where a sidecar could not be heard. */
export async function topOnce(options: OnceOptions): Promise<number> {
  const { json, colours, width, write, timeoutMs = TIMEOUT_MS } = options
  const board = await settled(options, timeoutMs)
  const lines = json ? [] : renderReport(board, width)
  if (json) write(jsonLine(board))
  else if (!colours) write(plainText(lines))
  else write(lines.map((line) => `${paintLine(line, true)}\n`).join(''))
  return board.sidecars.every(({ link }) => link === 'live') ? 0 : 1
}

/** Returns the board as soon as the rates of each sidecar are known, or it cannot be reached. */
function settled({ places, readToken }: OnceOptions, timeoutMs: number): Promise<Board> {
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
    const fleet = watchFleet(places, changed, { readToken })
  })
}
