import { isRecord } from '../../../base/values.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { PushedCall } from './pushed-call.ts'
import type { PushStream } from './push-stream.ts'

/** Streams are held by the thousand, and most never have a call that faults wait for. */
const NO_CALLS: readonly PushedCall[] = []

/** The open streams of one session, and its calls whose responses faults wait for. */
export class PushSession {
  readonly key: string
  readonly streams: PushStream[] = []
  #calls: readonly PushedCall[] = NO_CALLS

  constructor(key: string) {
    this.key = key
  }

  /** True while a stream has to be read event by event. */
  get armed(): boolean {
    return this.#calls.length > 0
  }

  get empty(): boolean {
    return this.streams.length === 0 && this.#calls.length === 0
  }

  add(pushed: PushedCall): void {
    this.#calls = [...this.#calls, pushed]
  }

  /** True when the call was there. */
  remove(pushed: PushedCall): boolean {
    const before = this.#calls.length
    this.#calls = this.#calls.filter((each) => each !== pushed)
    return this.#calls.length < before
  }

  /** The call that a message answers, or tells the progress of; undefined when that is not certain. */
  ownerOf(message: Message | undefined): PushedCall | undefined {
    if (message?.kind === 'result' || message?.kind === 'error') {
      const { id } = message
      // An id that is used again belongs to the newer call: so does the table of in-flight requests see it.
      return this.#calls.findLast(({ call }) => call.id === id)
    }
    if (message?.kind !== 'notification' || message.method !== 'notifications/progress') {
      return undefined
    }
    const token = isRecord(message.params) ? message.params['progressToken'] : undefined
    if (token === undefined) return undefined
    const owners = this.#calls.filter(({ call }) => call.progressToken === token)
    return owners.length === 1 ? owners[0] : undefined
  }
}
