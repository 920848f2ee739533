import { isHandshake, isList, isPassive } from './action.ts'
import type { Sender, TaskKey } from './task-key.ts'

/** The place of a call whose task is not clear yet. */
export interface Held extends Sender {
  /** The key of the client, whose calls keep their order. */
  readonly caller: string
  /** The key of the call, unless further calls share its trace. */
  readonly key?: TaskKey
  /** Undefined for a call that waits for earlier ones alone. */
  readonly trace?: OpenTrace | undefined
}

/** The begin or end of a call, or of its session, which is counted later. */
export interface Step {
  readonly trace: OpenTrace | undefined
  readonly at: number
  /** True for the end of a call that will get a verdict. */
  readonly isEvent: boolean
  /** `key` names the task where calls share the trace. */
  readonly run: (key?: TaskKey) => void
  isRun: boolean
}

/** A trace of which nobody knows whether calls share it. */
export class OpenTrace {
  readonly id: string
  readonly steps: Step[] = []
  /** A later call is of another task; a call that stays open holds others no longer. */
  until: number
  readonly #window: number
  readonly #latest: number
  #calls = 0
  #isFailing = false

  /** `id` names the trace among those of all clients. */
  constructor(id: string, window: number, beganAt: number) {
    this.id = id
    this.#window = window
    this.#latest = beganAt + window
    this.until = this.#latest + window
  }

  /**
   * Returns true from the second call of the trace on. Clients list tools, begin sessions and poll by
   * themselves within the span of a call, which counts only after the call failed.
   */
  isSharedBy(method: string): boolean {
    const isStep = (isHandshake(method) || isList(method)) && !this.#isFailing
    if (!isStep && !isPassive(method)) this.#calls++
    return this.#calls > 1
  }

  /** Takes the end of a call, and the time from which on its client may react. */
  ended(isFailing: boolean, expectedAt: number): void {
    this.#isFailing = isFailing
    this.until = Math.min(expectedAt, this.#latest) + this.#window
  }
}
