import { adjoined } from '../../../base/bytes.ts'

/** Joins adjacent bytes into one write. */
export class JoinedWrites {
  readonly #write: (bytes: Uint8Array) => void
  #held: Uint8Array | undefined
  #joining = false

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write
  }

  /** Runs `work` and joins its writes; other writes are not delayed. */
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

  /** Writes the held bytes. */
  flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#write(held)
  }
}
