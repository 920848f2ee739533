import { EventEmitter } from 'node:events'
import { eventually } from '../../../../test/support/eventually.ts'

/** A terminal that keeps what it is sent, with keys that can be pressed. */
export class FakeTerminal extends EventEmitter {
  readonly isTTY: boolean
  columns = 100
  rows = 40
  /** All that was ever written. */
  written = ''
  raw = false

  constructor(isTTY = true) {
    super()
    this.isTTY = isTTY
  }

  write(text: string): void {
    this.written += text
  }

  setRawMode(raw: boolean): void {
    this.raw = raw
  }

  resume(): void {}

  pause(): void {}

  press(keys: string): void {
    this.emit('data', keys)
  }

  /** The text on the screen now, without colours. */
  get screen(): string {
    const frame = this.written.split('\u001b[H').at(-1) ?? ''
    // oxlint-disable-next-line no-control-regex -- it is what terminals obey
    return frame.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r', '')
  }

  /** Resolves when the screen matches. */
  shows(pattern: RegExp): Promise<void> {
    return eventually(() =>
      pattern.test(this.screen) ? undefined : `not ${String(pattern)}:\n${this.screen}`,
    )
  }
}
