import type { Clock } from '../load/clock.ts'

/** Events between two looks at `stop`: a signal arrives only between turns of the event loop. */
const TURN = 4_096

interface TimedEvent {
  readonly at: number
  /** Events of the same time keep their order. */
  readonly number: number
  readonly act: () => void
}

/** Passes simulated time: from one event to the next, which a binary heap keeps. */
export class VirtualTime implements Clock {
  readonly #heap: TimedEvent[] = []
  #number = 0
  #now = 0

  now(): number {
    return this.#now
  }

  turn(): Promise<void> {
    return this.sleep(0)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((act) => this.#add({ at: this.#now + ms, number: this.#number++, act }))
  }

  #add(event: TimedEvent): void {
    const heap = this.#heap
    let place = heap.length
    while (place > 0) {
      const above = (place - 1) >> 1
      if (isBefore(heap[above]!, event)) break
      heap[place] = heap[above]!
      place = above
    }
    heap[place] = event
  }

  /** Passes the time until nothing waits any more, or until it is stopped. */
  run(stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let acted = 0
      const step = (): void => {
        const event = this.#take()
        if (event === undefined) return resolve()
        this.#now = event.at
        event.act()
        if (++acted % TURN !== 0) queueMicrotask(next)
        else setImmediate(() => (stop.aborted ? resolve() : step()))
      }
      // A tick runs when all promises have settled: what the event wakes goes on before the next.
      const next = (): void => process.nextTick(step)
      queueMicrotask(next)
    })
  }

  #take(): TimedEvent | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (isBefore(last, heap[below]!)) break
      heap[place] = heap[below]!
      place = below
    }
    heap[place] = last
    return first
  }
}

function isBefore(one: TimedEvent, other: TimedEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number)
}
