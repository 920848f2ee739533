import { CLEAR_LINE, paint, redraw, type Tone, widthOf } from '#base'
import { progressBar } from '../load/load-progress.ts'

const WIDTH = 80
const BAR = 30
const REDRAW_MS = 60

/** Shows the demo: with colours and a moving bar on a terminal, in plain lines elsewhere. */
export class DemoScreen {
  readonly #out: NodeJS.WriteStream | undefined
  #barShown = false
  #drawnAt = 0

  /** Shows nothing without an output. */
  constructor(out: NodeJS.WriteStream | undefined) {
    this.#out = out
  }

  /** Returns the text in the colour of its meaning where the output shows colours. */
  paint(tone: Tone, text: string): string {
    return paint(tone, text, this.#out ?? false)
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
    this.line(this.paint('quiet', '─'.repeat(Math.min(widthOf(this.#out ?? {}), WIDTH))))
  }

  /** Shows progress on a terminal, replaced by the next line. */
  progress(share: number, done: string): void {
    if (this.#out?.isTTY !== true) return
    const now = performance.now()
    if (share < 1 && now - this.#drawnAt < REDRAW_MS) return
    this.#drawnAt = now
    redraw(this.#out, `   ${progressBar(share, BAR)} ${done}`)
    this.#barShown = true
  }

  clearBar(): void {
    if (!this.#barShown) return
    this.#out?.write(CLEAR_LINE)
    this.#barShown = false
  }
}
