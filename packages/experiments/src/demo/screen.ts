import { CLEAR_LINE, integerText, type LineOutput, redraw } from '#base'
import { progressBar } from '../load/load-progress.ts'

/** The meaning of a text, which selects its colour. */
export type Tone = 'strong' | 'good' | 'bad' | 'quiet' | 'injected' | 'real'

const CODES: Readonly<Record<Tone, string>> = {
  strong: '1',
  good: '32',
  bad: '31',
  quiet: '2',
  // Injected errors are purple everywhere, and real errors red.
  injected: '35',
  real: '31',
}
const WIDTH = 80
const BAR = 30
const REDRAW_MS = 60

/** Shows the demo: with colours and a moving bar on a terminal, in plain lines elsewhere. */
export class Screen {
  readonly #out: LineOutput | undefined
  readonly #colours: boolean
  #barShown = false
  #drawnAt = 0

  /** Shows nothing without an output. */
  constructor(out: LineOutput | undefined, env: Readonly<Record<string, string | undefined>>) {
    this.#out = out
    const plain = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
    // A recorder has no terminal, and requests colours by this variable.
    const wanted = !['', '0'].includes(env['FORCE_COLOR'] ?? '')
    this.#colours = (out?.isTTY === true || wanted) && !plain
  }

  /** Returns the text in the colour of its meaning, or unchanged without colours. */
  paint(tone: Tone, text: string): string {
    return this.#colours ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text
  }

  /** Returns a check mark or a cross. */
  marker(ok: boolean): string {
    return ok ? this.paint('good', '✓') : this.paint('bad', '✗')
  }

  line(text = ''): void {
    this.clearBar()
    this.#out?.write(`${text}\n`)
  }

  /** Writes a line with a check mark or a cross in front. */
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
    const text = `   ${progressBar(share, BAR)} ${integerText(done)} ${note}`
    redraw(this.#out, text)
    this.#barShown = true
  }

  clearBar(): void {
    if (!this.#barShown) return
    this.#out?.write(CLEAR_LINE)
    this.#barShown = false
  }

  get #columns(): number {
    return this.#out?.columns ?? WIDTH
  }
}
