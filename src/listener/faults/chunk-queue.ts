import type { HeaderLines } from '../../mcp/http.ts'
import type { Failure } from '../../mcp/transfer.ts'

/** With more than this waiting, the sender is asked to pause. */
const HIGH_WATER = 64 * 1024

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The answer was broken off: whoever reads it is to see no end where there was none. */
export class BrokenOff extends Error {
  readonly code = 'SQUALL_BROKEN_OFF'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

interface Reader {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void
  readonly reject: (error: BrokenOff) => void
}

/** Where the bytes of an answer wait to be taken: pushed on one side, pulled on the other. */
export class ChunkQueue implements AsyncIterator<Uint8Array, undefined> {
  trailers: HeaderLines = []
  #chunks: Uint8Array[] = []
  #size = 0
  #closed = false
  #failure: Failure | undefined
  #readers: Reader[] = []
  readonly #relieved: () => void

  /** `relieved` is called when there is room again. */
  constructor(relieved: () => void) {
    this.#relieved = relieved
  }

  /** True while the reader is too far behind to be given more. */
  get behind(): boolean {
    return this.#size > HIGH_WATER
  }

  /** True when nothing more will be pushed. */
  get closed(): boolean {
    return this.#closed
  }

  push(chunk: Uint8Array): void {
    if (this.#closed) return
    const reader = this.#readers.shift()
    if (reader !== undefined) {
      reader.resolve({ done: false, value: chunk })
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
  }

  /** Nothing more will come; what waits is still taken. */
  close(trailers: HeaderLines): void {
    this.trailers = trailers
    this.#end(undefined)
  }

  /** Nothing more will come, and that is not the end: told after what waits is taken. */
  break(failure: Failure): void {
    this.#end(failure)
  }

  /** Lets go of everything. */
  drop(): void {
    this.#chunks = []
    this.#size = 0
    this.#failure = undefined
    this.#end(undefined)
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const chunk = this.#chunks.shift()
    if (chunk !== undefined) {
      const wasBehind = this.behind
      this.#size -= chunk.length
      if (wasBehind && !this.behind) this.#relieved()
      return Promise.resolve({ done: false, value: chunk })
    }
    if (this.#failure !== undefined) return Promise.reject(new BrokenOff(this.#failure))
    if (this.#closed) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }))
  }

  #end(failure: Failure | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#failure = failure
    for (const { resolve, reject } of this.#readers.splice(0)) {
      if (failure === undefined) resolve(DONE)
      else reject(new BrokenOff(failure))
    }
  }
}
