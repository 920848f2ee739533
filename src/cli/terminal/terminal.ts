import { onSignals } from '../../base/signals.ts'
import { type Line, paintLine } from './line.ts'

export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  readonly writableNeedDrain?: boolean
  write(text: string): unknown
  on(event: 'resize', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export interface Input {
  readonly isTTY?: boolean
  setRawMode?(raw: boolean): unknown
  resume(): unknown
  pause(): unknown
  on(event: 'data', listener: (data: Buffer | string) => void): unknown
  off(event: 'data', listener: (data: Buffer | string) => void): unknown
}

export interface TerminalListener {
  readonly onKeys: (sent: string) => void
  readonly onResize: () => void
}

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[0m\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_REST_OF_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

/**
 * Switches to the alternate screen and reads keys; the terminal is restored however the process
 * ends.
 */
export function openTerminal(
  output: Output,
  input: Input,
  colours: boolean,
  { onKeys, onResize }: TerminalListener,
) {
  let open = true
  const onData = (data: Buffer | string): void => onKeys(data.toString())
  const close = (): void => {
    if (!open) return
    open = false
    process.off('exit', close)
    process.off('uncaughtExceptionMonitor', close)
    output.off('resize', onResize)
    input.off('data', onData)
    if (input.isTTY === true) input.setRawMode?.(false)
    input.pause()
    output.write(LEAVE)
  }
  process.on('exit', close)
  // Restores the screen before the error is printed, or the error would disappear with the
  // alternate screen.
  process.on('uncaughtExceptionMonitor', close)
  output.on('resize', onResize)
  output.write(ENTER)
  if (input.isTTY === true) {
    input.setRawMode?.(true)
    input.on('data', onData)
    input.resume()
  }
  return {
    get width() {
      return output.columns ?? 80
    },
    get height() {
      return output.rows ?? 24
    },
    draw: (lines: readonly Line[]) => {
      // A slow terminal skips this onData and gets the next one.
      if (!open || output.writableNeedDrain === true) return
      const text = lines.map((line) => paintLine(line, colours) + CLEAR_REST_OF_LINE).join('\r\n')
      output.write(HOME + text + CLEAR_BELOW)
    },
    close,
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls back at a signal to stop. Returns a function that removes the handlers. */
export function onStopSignal(stop: () => void): () => void {
  return onSignals(SIGNALS, stop)
}
