import { asBuffer } from '../../../base/bytes.ts'
import { Fifo } from '../../../base/fifo.ts'
import { ENDLESS, type Room } from '../../../base/room.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** Bytes on their way from one fault to the next. */
export type ByteFlow = AsyncIterator<Uint8Array, undefined>

/** What is held of a response does not come in time. */
export class HeldTooLong extends Error {
  readonly code = 'SQUALL_HELD_TOO_LONG'
}

/** Bounds how long a transform holds what it has taken while it waits for more. */
export interface HoldBound {
  /** In milliseconds; what comes at a fair pace may take longer. */
  readonly timeout: number
  /** True while another fault lets time pass, which is not the upstream's. */
  readonly isExcused: () => boolean
}

/**
 * The body as one transform sees it. It keeps what was taken and has not come out yet, so that a
 * transform that fails loses nothing, and tells whether other bytes came out than went in.
 */
export class OutputTap implements AsyncIterableIterator<Uint8Array> {
  /** Something was asked of it. */
  touched = false
  exhausted = false
  /** Other bytes came out than went in. */
  changed = false
  /** More was held than is kept: what comes out can no longer be compared with what went in. */
  lost = false
  /** The transform has not given its head. */
  holdsHead = true
  /** Why the input broke off before its end. */
  broken: { readonly error: unknown } | undefined
  readonly #input: ByteFlow
  /** More than this is not kept. */
  readonly #limit: number
  readonly #memory: Room
  readonly #inHand = new Fifo<Uint8Array>()
  /** How much of the first of them has come out. */
  #out = 0
  #size = 0
  readonly #bound: HoldBound | undefined
  /** Asked of the input, and not there yet. */
  #arriving: Promise<IteratorResult<Uint8Array, undefined>> | undefined
  /** Since something last came out: how long was waited, in milliseconds, and how many bytes came. */
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

  /** What comes next, for those who take over from the transform. */
  rest(): Promise<IteratorResult<Uint8Array, undefined>> {
    const arriving = this.#arriving ?? this.#input.next()
    this.#arriving = undefined
    return arriving
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    return Promise.resolve({ done: true, value: undefined })
  }

  /** The transform gave these bytes. */
  gave(bytes: Uint8Array): void {
    if (this.lost) return
    this.#waited = 0
    this.#came = 0
    let rest = bytes
    while (rest.length > 0) {
      const first = this.#inHand.first?.subarray(this.#out)
      const size = Math.min(first?.length ?? 0, rest.length)
      if (first === undefined || !sameBytes(first.subarray(0, size), rest.subarray(0, size))) {
        // They are in the place of what was taken.
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

  /** The transform gives no more. */
  ended(): void {
    if (!this.exhausted || this.#size > 0) this.changed = true
    this.#clear()
  }

  /** What was taken and has not come out. */
  takeInHand(): readonly Uint8Array[] {
    const [first, ...rest] = this.#inHand.takeAll()
    const inHand = first === undefined ? [] : [first.subarray(this.#out), ...rest]
    this.#out = 0
    this.#memory.give(this.#size)
    this.#size = 0
    return inHand
  }

  /** Waits for the input. What is lost cannot be let go of, and so has no bound. */
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
