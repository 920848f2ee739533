import { topLines } from './lines.ts'
import { topLive } from './live-screen.ts'
import { topOnce } from './once.ts'
import type { Place } from './place.ts'
import type { Input, Output } from './terminal.ts'

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
