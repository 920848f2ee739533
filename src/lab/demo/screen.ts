import { wholeNumber } from '../report/shown-numbers.ts'

/** Where the demo is shown. */
export interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

/** Colours by what they mean. */
export type Tone = 'strong' | 'good' | 'bad' | 'quiet' | 'injected' | 'real'

const CODES: Readonly<Record<Tone, string>> = {
  strong: '1',
  good: '32',
  bad: '31',
  quiet: '2',
  // As everywhere: what was injected is purple, and what is real is red.
  injected: '35',
  real: '31',
}
const WIDTH = 80
const BAR = 30
const REDRAW_MS = 60

/** Shows the demo: with colours and a moving bar on a terminal, in plain lines elsewhere. */
export class Screen {
  readonly #out: Terminal | undefined
  readonly #colours: boolean
  #barShown = false
  #drawnAt = 0

  /** Without a terminal nothing is shown. */
  constructor(out: Terminal | undefined, env: Readonly<Record<string, string | undefined>>) {
    this.#out = out
    const plain = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
    // A program that takes pictures has no terminal, and asks for colours all the same.
    const wanted = !['', '0'].includes(env['FORCE_COLOR'] ?? '')
    this.#colours = (out?.isTTY === true || wanted) && !plain
  }

  /** The text in the colour of its meaning, where there are colours. */
  paint(tone: Tone, text: string): string {
    return this.#colours ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text
  }

  /** A check mark or a cross. */
  marker(ok: boolean): string {
    return ok ? this.paint('good', '✓') : this.paint('bad', '✗')
  }

  line(text = ''): void {
    this.clearBar()
    this.#out?.write(`${text}\n`)
  }

  /** A line with a mark in front. */
  check(ok: boolean, text: string): void {
    this.line(`   ${this.marker(ok)} ${text}`)
  }

  rule(): void {
    this.line(this.paint('quiet', '─'.repeat(Math.min(this.#columns, WIDTH))))
  }

  /** Shows progress on a terminal, replaced by the next line. */
  progress(share: number, done: number, note: string): void {
    if (this.#out?.isTTY !== true) return
    const now = performance.now()
    if (share < 1 && now - this.#drawnAt < REDRAW_MS) return
    this.#drawnAt = now
    const filled = Math.round(BAR * Math.min(1, share))
    const bar = '█'.repeat(filled) + '░'.repeat(BAR - filled)
    const text = `   ${bar} ${wholeNumber(done)} ${note}`
    // Never the last column: a line that wraps could not be taken back.
    this.#out.write(`\r${text.slice(0, this.#columns - 1)}\u001b[K`)
    this.#barShown = true
  }

  clearBar(): void {
    if (!this.#barShown) return
    this.#out?.write('\r\u001b[K')
    this.#barShown = false
  }

  get #columns(): number {
    return this.#out?.columns ?? WIDTH
  }
}
