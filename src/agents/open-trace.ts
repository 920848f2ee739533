import type { Link } from '../base/linked-list.ts'
import { isHandshake, isList, isPassive } from './action.ts'
import type { TaskKey } from './task-key.ts'

/** The place of a call whose task is not clear yet. */
export interface Held {
  /** Identifies the client, whose calls keep their order. */
  readonly caller: string
  /** The key of the call, unless further calls share its trace; undefined for one without. */
  readonly key: TaskKey | undefined
  /** Undefined for a call that waits for earlier ones alone. */
  readonly trace: OpenTrace | undefined
}

/** The begin or end of a call, or of its session, which is counted later. */
export interface Step extends Link<Step> {
  readonly caller: string
  readonly trace: OpenTrace | undefined
  readonly at: number
  /** True for the end of a call that will get a verdict. */
  readonly isEvent: boolean
  isRun: boolean
  /** `key` names the task where calls share the trace. */
  readonly run: (key: TaskKey | undefined) => void
}

/** A trace of which nobody knows whether calls share it. */
export class OpenTrace {
  /** Names the trace among those of all clients. */
  readonly id: string
  readonly key: TaskKey
  /** Its steps, with some that were run. */
  readonly steps: Step[] = []
  /** A call that comes later is of another task. */
  until: number
  readonly #beganAt: number
  readonly #window: number
  #open = 0
  #hasCall = false
  #isFailing = false

  constructor(id: string, trace: string, window: number, beganAt: number) {
    this.id = id
    this.key = { kind: 'trace', key: trace }
    this.#window = window
    this.#beganAt = beganAt
    // A call that stays open holds others back no longer than that.
    this.until = beganAt + 2 * window
  }

  /**
   * Returns true for the second call of the trace. Clients list tools, begin sessions and poll by
   * themselves within the span of a call, which counts only after the call failed.
   */
  isSharedBy(method: string): boolean {
    if (isPassive(method)) return false
    if ((isHandshake(method) || isList(method)) && !this.#isFailing) return false
    const isSecond = this.#hasCall
    this.#hasCall = true
    return isSecond
  }

  began(): void {
    this.#open++
    this.until = this.#beganAt + 2 * this.#window
  }

  /** Takes the end of a call, and the time from which on its client may react. */
  ended(isFailing: boolean, expectedAt: number): void {
    this.#isFailing = isFailing
    if (--this.#open > 0) return
    this.until = Math.min(expectedAt, this.#beganAt + this.#window) + this.#window
  }
}
