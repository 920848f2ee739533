import { DecideError } from './decide-pod.ts'

const MOST_WAITING = 32

/**
 * Returns a function that runs checks one after another: a large ConfigMap needs a thread and its
 * memory. The time limit of a review includes its wait.
 */
export function checkQueue(timeoutMs: number) {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async <T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (waiting >= MOST_WAITING) {
      throw new DecideError('overload', 'too many rule checks are queued; try again')
    }
    const signal = AbortSignal.timeout(timeoutMs)
    waiting++
    const turn = last.then(() => run(signal))
    last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      waiting--
    }
  }
}
