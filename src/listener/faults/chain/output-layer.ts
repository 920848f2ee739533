import { isHeaderName } from '../../../http/header-text.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import { CutResponse } from '../../../filters/lib/cut-response.ts'
import type { Output } from '../../../filters/fault.ts'
import type { ActiveFault } from '../active-fault.ts'
import { asBuffer } from '../../../base/bytes.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { ByteBudget } from '../../../base/byte-budget.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** Rejects a head of a fault that cannot be sent. */
export class UnsendableHeadError extends Error {
  readonly code = 'SQUALL_UNSENDABLE_HEAD'
}

/** Matches line breaks, NUL, and characters of more than one byte. */
const UNSAFE = /[\r\n\0\u0100-\uffff]/

/** Rejects a head that would be split differently on the wire, or that is not a final response. */
export function checkedHead(head: ResponseHead, before: ResponseHead): void {
  if (head === before) return
  const { status, reason, headers } = head
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new UnsendableHeadError(`invalid status of a response: ${status}`)
  }
  if (UNSAFE.test(reason)) throw new UnsendableHeadError('the reason phrase contains a line break')
  if (headers.length % 2 !== 0) throw new UnsendableHeadError('a header without a value')
  if (headers === before.headers) return
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!isHeaderName(headers[i]!) || UNSAFE.test(headers[i + 1]!)) {
      throw new UnsendableHeadError('a header contains a line break, or has no name')
    }
  }
}

/** The bytes between two faults. */
export type ByteFlow = AsyncIterator<Uint8Array, undefined>

/** Reports that the rest of a held response did not arrive in time. */
export class HeldTooLong extends Error {
  readonly code = 'SQUALL_HELD_TOO_LONG'
}

/** An HTTP response between two faults. */
export interface OutputFlow {
  readonly head: ResponseHead
  readonly body: ByteFlow
  /** Returns true when the whole response of the upstream has passed. */
  readonly whole: () => boolean
}

/** Configures a layer. */
interface LayerOptions {
  readonly active: ActiveFault
  /**
   * The milliseconds for which the transform may hold them while it waits for more; bytes that
   * arrive at the least rate may take longer. Undefined for a body that has arrived.
   */
  readonly timeout: number | undefined
  /** Returns true while another fault sleeps, which is not the upstream's delay. */
  readonly isExcused: () => boolean
  /** Called when the client receives other bytes than the upstream sent. */
  readonly changed: () => void
  /** True when the status alone decides the outcome, so that another body does not change it. */
  readonly endsByStatus: boolean
}

/**
 * One fault's transform, and the body as the transform sees it. Keeps the bytes that were taken and
 * not emitted: when the transform fails, they are sent unchanged, with the rest. Detects whether
 * the emitted bytes differ from the input.
 */
export class OutputLayer implements AsyncIterableIterator<Uint8Array> {
  readonly #options: LayerOptions
  readonly #memory: ByteBudget
  readonly #input: OutputFlow
  /** True until the transform returns its head. */
  #holdsHead = true
  /** True when the transform has read from the body. */
  #isTouched = false
  #isExhausted = false
  /** True when the emitted bytes differ from the input. */
  #isChanged = false
  /** True when more bytes were held than are kept, so that input and output cannot be compared. */
  #isLost = false
  /** The error that ended the input. */
  #broken: { readonly error: unknown } | undefined
  readonly #inHand = new Fifo<Uint8Array>()
  /** The bytes of the first kept chunk that were emitted. */
  #out = 0
  #size = 0
  /** The pending read of the input. */
  #arriving: Promise<IteratorResult<Uint8Array, undefined>> | undefined
  /** The time waited, in milliseconds, and the bytes received since the last output. */
  #waited = 0
  #came = 0

  constructor(options: LayerOptions, input: OutputFlow) {
    this.#options = options
    this.#memory = options.active.owner.memory
    this.#input = input
  }

  /** Pipes the response through the transform; resolves when the head is known. */
  async start(): Promise<OutputFlow> {
    const { active, changed } = this.#options
    const input = this.#input
    const before = input.head
    active.asked = true
    active.inOutput = true
    let output: Output
    try {
      output = await active.fault.onOutput!(active, { head: before, body: this })
      this.#holdsHead = false
      checkedHead(output.head, before)
      // Now the head can carry the marker.
      active.commitClaims()
    } catch (error) {
      this.#stopped(error)
      return { head: before, body: this.#untouched(), whole: input.whole }
    }
    const { head, body } = output
    if (head.status !== before.status) changed()
    if (body === this && !this.#isTouched) {
      // The transform does not read the body: later effects of the fault are not those of this
      // response.
      active.settle()
      active.inOutput = false
      return { head, body: input.body, whole: input.whole }
    }
    const whole = (): boolean => this.#isExhausted && input.whole()
    return { head, body: this.#transformed(body), whole }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#isTouched = true
    if (this.#isExhausted) return { done: true, value: undefined }
    let step: IteratorResult<Uint8Array, undefined>
    try {
      step = await this.#inTime((this.#arriving ??= this.#input.body.next()))
    } catch (error) {
      if (!(error instanceof HeldTooLong)) this.#broken = { error }
      throw error
    }
    this.#arriving = undefined
    if (step.done === true) {
      this.#isExhausted = true
    } else if (!this.#isLost) {
      const { length } = step.value
      this.#inHand.push(step.value)
      this.#size += length
      this.#came += length
      this.#memory.take(length)
      // The bound on bytes that the transform took and did not emit.
      if (this.#size > this.#options.active.owner.context.parts.maxBody) {
        this.#isLost = true
        this.#clear()
      }
    }
    return step
  }

  async *#transformed(output: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
    const { active } = this.#options
    let iterator: AsyncIterator<Uint8Array> | undefined
    let ended = false
    try {
      try {
        iterator = output[Symbol.asyncIterator]()
        for (;;) {
          const step = await iterator.next()
          active.settle()
          if (step.done === true) break
          this.#gave(step.value)
          this.#checkChanged()
          yield step.value
        }
        ended = true
        if (this.#broken === undefined) {
          if (!this.#isExhausted || this.#size > 0) this.#isChanged = true
          this.#clear()
          this.#checkChanged()
          return undefined
        }
      } catch (error) {
        ended = true
        this.#stopped(error)
      }
      yield* this.#untouched()
      return undefined
    } finally {
      // Not awaited: a sleeping fault wakes at the end of the exchange. A transform that has ended
      // needs no `return`.
      if (!ended) iterator?.return?.().catch(() => undefined)
      this.#input.body.return?.().catch(() => undefined)
    }
  }

  #checkChanged(): void {
    const { active, changed, endsByStatus } = this.#options
    // A response that was held too long to be compared counts as changed when the fault took
    // effect.
    if (!this.#isChanged && !(this.#isLost && active.changed)) return
    this.#isChanged = false
    if (!endsByStatus) changed()
  }

  /** Handles the error of a transform. An error of its input ends the response, too. */
  #stopped(error: unknown): void {
    const { active, changed } = this.#options
    if (error instanceof CutResponse && error !== this.#broken?.error) {
      active.settle()
      changed()
      throw error
    }
    if (this.#broken === undefined) {
      // Bytes beyond the bound were not kept, and are missing now.
      if (this.#isLost) changed()
      if (error instanceof HeldTooLong) active.revoke('too_slow')
      else active.failed(error)
    } else active.settle()
  }

  /** Emits the bytes that a transform took and did not emit, and the rest of the input. */
  async *#untouched(): AsyncGenerator<Uint8Array, undefined> {
    const [first, ...rest] = this.#inHand.takeAll()
    const out = this.#out
    this.#clear()
    if (first !== undefined) yield first.subarray(out)
    yield* rest
    if (this.#broken !== undefined) throw this.#broken.error
    for (;;) {
      const step = await (this.#arriving ?? this.#input.body.next())
      this.#arriving = undefined
      if (step.done === true) break
      yield step.value
    }
    this.#isExhausted = true
    return undefined
  }

  /** Compares bytes of the transform with the kept input. */
  #gave(bytes: Uint8Array): void {
    if (this.#isLost) return
    this.#waited = 0
    this.#came = 0
    let rest = bytes
    while (rest.length > 0) {
      const first = this.#inHand.first?.subarray(this.#out)
      const size = Math.min(first?.length ?? 0, rest.length)
      if (first === undefined || !sameBytes(first.subarray(0, size), rest.subarray(0, size))) {
        // The bytes replace the input.
        this.#isChanged = true
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

  /** Waits for the input within the bound; lost bytes cannot be released, so they have no bound. */
  #inTime<Step>(arriving: Promise<Step>): Promise<Step> {
    const { timeout, isExcused } = this.#options
    const holds = this.#holdsHead || this.#size > 0
    if (timeout === undefined || !holds || this.#isLost) return arriving
    return new Promise((resolve, reject) => {
      const late = (): void => {
        if (isExcused()) timer = watch(0)
        else reject(new HeldTooLong('the buffered part of the response did not arrive in time'))
      }
      const watch = (before: number): HoldTimer =>
        new HoldTimer(timeout, () => this.#came, late, before)
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
