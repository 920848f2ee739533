import { asBuffer } from '../../../base/bytes.ts'
import { Fifo } from '../../../base/fifo.ts'
import { ENDLESS, type Room } from '../../../base/room.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** The bytes between two faults. */
export type ByteFlow = AsyncIterator<Uint8Array, undefined>

/** Reports that the rest of a held response did not arrive in time. */
export class HeldTooLong extends Error {
  readonly code = 'SQUALL_HELD_TOO_LONG'
}

/** Bounds the time for which a transform holds bytes while it waits for more. */
export interface HoldBound {
  /** In milliseconds; bytes that arrive at the least rate may take longer. */
  readonly timeout: number
  /** Returns true while another fault sleeps, which is not the upstream's delay. */
  readonly isExcused: () => boolean
}

/**
 * The body as one transform sees it. Keeps the bytes that were taken and not emitted, so that a
 * transform that fails loses nothing, and detects whether the emitted bytes differ from the input.
 */
export class OutputTap implements AsyncIterableIterator<Uint8Array> {
  /** True when the transform has read from the body. */
  touched = false
  exhausted = false
  /** True when the emitted bytes differ from the input. */
  changed = false
  /** True when more bytes were held than are kept, so that input and output cannot be compared. */
  lost = false
  /** True until the transform returns its head. */
  holdsHead = true
  /** The error that ended the input. */
  broken: { readonly error: unknown } | undefined
  readonly #input: ByteFlow
  /** The bound on kept bytes. */
  readonly #limit: number
  readonly #memory: Room
  readonly #inHand = new Fifo<Uint8Array>()
  /** The bytes of the first kept chunk that were emitted. */
  #out = 0
  #size = 0
  readonly #bound: HoldBound | undefined
  /** The pending read of the input. */
  #arriving: Promise<IteratorResult<Uint8Array, undefined>> | undefined
  /** The time waited, in milliseconds, and the bytes received since the last output. */
  #waited = 0
  #came = 0

  constructor(input: ByteFlow, limit: number, memory = ENDLESS, bound?: HoldBound) {
    this.#input = input
    this.#limit = limit
    this.#memory = memory
    this.#bound = bound
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    this.touched = true
    if (this.exhausted) return { done: true, value: undefined }
    let step: IteratorResult<Uint8Array, undefined>
    try {
      step = await this.#inTime((this.#arriving ??= this.#input.next()))
    } catch (error) {
      if (!(error instanceof HeldTooLong)) this.broken = { error }
      throw error
    }
    this.#arriving = undefined
    if (step.done === true) {
      this.exhausted = true
    } else if (!this.lost) {
      this.#inHand.push(step.value)
      this.#size += step.value.length
      this.#came += step.value.length
      this.#memory.take(step.value.length)
      if (this.#size > this.#limit) {
        this.lost = true
        this.#clear()
      }
    }
    return step
  }

  /** Reads the next chunk for the successor of the transform. */
  rest(): Promise<IteratorResult<Uint8Array, undefined>> {
    const arriving = this.#arriving ?? this.#input.next()
    this.#arriving = undefined
    return arriving
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Compares bytes of the transform with the kept input. */
  gave(bytes: Uint8Array): void {
    if (this.lost) return
    this.#waited = 0
    this.#came = 0
    let rest = bytes
    while (rest.length > 0) {
      const first = this.#inHand.first?.subarray(this.#out)
      const size = Math.min(first?.length ?? 0, rest.length)
      if (first === undefined || !sameBytes(first.subarray(0, size), rest.subarray(0, size))) {
        // The bytes replace the input.
        this.changed = true
        this.#clear()
        return
      }
      this.#size -= size
      this.#memory.give(size)
      this.#out += size
      if (size === first.length) {
        this.#inHand.shift()
        this.#out = 0
      }
      rest = rest.subarray(size)
    }
  }

  /** Ends the output of the transform. */
  ended(): void {
    if (!this.exhausted || this.#size > 0) this.changed = true
    this.#clear()
  }

  /** Takes the bytes that were read and not emitted. */
  takeInHand(): readonly Uint8Array[] {
    const [first, ...rest] = this.#inHand.takeAll()
    const inHand = first === undefined ? [] : [first.subarray(this.#out), ...rest]
    this.#out = 0
    this.#memory.give(this.#size)
    this.#size = 0
    return inHand
  }

  /** Waits for the input within the bound; lost bytes cannot be released, so they have no bound. */
  #inTime<Step>(arriving: Promise<Step>): Promise<Step> {
    const bound = this.#bound
    const holds = this.holdsHead || this.#size > 0
    if (bound === undefined || !holds || this.lost) return arriving
    return new Promise((resolve, reject) => {
      const late = (): void => {
        if (bound.isExcused()) timer = watch(0)
        else reject(new HeldTooLong('what is held does not come in time'))
      }
      const watch = (before: number): HoldTimer =>
        new HoldTimer(bound.timeout, () => this.#came, late, before)
      const begun = performance.now()
      let timer = watch(this.#waited)
      const over = (): void => {
        timer.stop()
        this.#waited += performance.now() - begun
      }
      arriving.finally(over).then(resolve, reject)
    })
  }

  #clear(): void {
    this.#inHand.clear()
    this.#out = 0
    this.#memory.give(this.#size)
    this.#size = 0
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.buffer === b.buffer && a.byteOffset === b.byteOffset) return true
  return asBuffer(a).equals(b)
}
