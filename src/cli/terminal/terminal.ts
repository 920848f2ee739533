import { paint, type Tone, widthOf } from '../../base/text/terminal-text.ts'
import { onSignals } from '../../base/signals.ts'

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
      return widthOf(output)
    },
    get height() {
      return output.rows || 24
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

const ASCII = /^[\u0020-\u007e]*$/
// Emoji and East Asian scripts take two cells.
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{17000}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Returns the number of terminal cells of a text without control characters. */
export function cells(text: string): number {
  if (ASCII.test(text)) return text.length
  let sum = 0
  for (const char of text) sum += WIDE.test(char) ? 2 : 1
  return sum
}

/** Cuts a text to a number of cells; a cut text ends with an ellipsis. */
export function fit(text: string, most: number): string {
  if (cells(text) <= most) return text
  let kept = ''
  let left = most - 1
  for (const char of text) {
    left -= cells(char)
    if (left < 0) break
    kept += char
  }
  return most < 1 ? '' : `${kept}…`
}

/** Cuts or pads a text to exactly `width` cells. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = fit(text, width)
  const space = ' '.repeat(Math.max(0, width - cells(shown)))
  return align === 'left' ? shown + space : space + shown
}

export interface Span {
  readonly text: string
  readonly tone: Tone
  /** The page that a terminal opens for the text. */
  readonly link?: string | undefined
}

export type Line = readonly Span[]

export function span(text: string, tone: Tone = 'plain', link?: string): Span {
  return { text, tone, link }
}

/** Returns a line of one span, indented by one cell. */
export function textLine(text: string, tone: Tone = 'plain'): Line {
  return [span(` ${text}`, tone)]
}

/** Cuts a line to a number of cells. */
export function fitLine(line: Line, most: number): Line {
  let left = most
  const kept: Span[] = []
  for (const each of line) {
    const shown = fit(each.text, left)
    if (shown !== '') kept.push({ ...each, text: shown })
    if (shown !== each.text) break
    left -= cells(shown)
  }
  return kept
}

/** Formats lines without colours. */
export function plainText(lines: readonly Line[]): string {
  const texts = lines.map((line) => line.map(({ text }) => text).join(''))
  return texts.map((text) => `${text.trimEnd()}\n`).join('')
}

/** A link that ends no control sequence. */
const LINK = /^https?:\/\/[!-~]+$/

/** Formats a line with ANSI colour codes, and with links where there are colours. */
export function paintLine(line: Line, colours: boolean): string {
  return line
    .map(({ text, tone, link = '' }) => {
      const painted = paint(tone, text, colours)
      const isLinked = colours && LINK.test(link)
      return isLinked ? `\u001b]8;;${link}\u001b\\${painted}\u001b]8;;\u001b\\` : painted
    })
    .join('')
}
