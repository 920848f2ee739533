import { adjoined } from '../../../base/bytes.ts'

/** Writes bytes that lie side by side in one piece, while there is no need to see them apart. */
export class JoinedWrites {
  readonly #write: (bytes: Uint8Array) => void
  #held: Uint8Array | undefined
  #joining = false

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write
  }

  /** Writes at once, but for what is written while `during` runs. */
  during(work: () => void): void {
    this.#joining = true
    try {
      work()
    } finally {
      this.#joining = false
      this.flush()
    }
  }

  write(bytes: Uint8Array): void {
    const both = this.#held === undefined ? undefined : adjoined(this.#held, bytes)
    if (both === undefined) this.flush()
    this.#held = both ?? bytes
    if (!this.#joining) this.flush()
  }

  /** Writes what is held. */
  flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#write(held)
  }
}
