import type { Board } from './board.ts'
import { watchFleet } from './fleet.ts'
import { jsonLine } from './json-line.ts'
import type { Place } from './place.ts'
import { plainText } from './screen/line.ts'
import { paintLine } from './screen/paint.ts'
import { renderReport } from './screen/screen.ts'

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
