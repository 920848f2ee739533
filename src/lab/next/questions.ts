import type { WrittenRule } from '../experiment/plan.ts'

/** The behaviour of a tool that a change of it makes worth testing. */
export type Symptom = 'latency' | 'errors' | 'size'

/** A failure of a tool that an experiment can imitate. */
export interface Question {
  readonly id: string
  /** The fault by its name in rules. */
  readonly fault: string
  readonly asks: string
  readonly symptom: Symptom
  /** The fault with its parameters. */
  readonly write: object
  /** True when the calls fail even if the callers are prepared for it. */
  readonly fails: boolean
}

/** The questions to ask about each tool. */
export const QUESTIONS: readonly Question[] = [
  {
    id: 'slow',
    fault: 'delay',
    asks: 'Do its callers wait when it is slow?',
    symptom: 'latency',
    write: { delay: { uniform: { min: '1s', max: '3s' } } },
    fails: false,
  },
  {
    id: 'error',
    fault: 'abort',
    asks: 'Do its callers handle an error result?',
    symptom: 'errors',
    write: { abort: { toolError: 'connection to the database lost' } },
    fails: true,
  },
  {
    id: 'unavailable',
    fault: 'abort',
    asks: 'Do its callers handle status 503?',
    symptom: 'errors',
    write: { abort: { status: 503 } },
    fails: true,
  },
  {
    id: 'silent',
    fault: 'hang',
    asks: 'Do its callers give up when it never responds?',
    symptom: 'latency',
    write: { hang: {} },
    fails: true,
  },
  {
    id: 'limited',
    fault: 'rateLimit',
    asks: 'Do its callers wait as long as Retry-After says?',
    symptom: 'errors',
    write: { rateLimit: { retryAfter: '1s' } },
    fails: true,
  },
  {
    id: 'truncated',
    fault: 'truncate',
    asks: 'Do its callers notice a result that is cut?',
    symptom: 'size',
    write: { truncate: { content: { percent: 50 } } },
    fails: false,
  },
]

/** Returns the questions that the faults of a rule ask. */
export function questionsOf({ faults }: WrittenRule): readonly Question[] {
  const written: readonly unknown[] = Array.isArray(faults) ? faults : []
  return QUESTIONS.filter(({ id, fault }) =>
    written.some((each) => {
      if (each === fault) return fault !== 'abort'
      const config = (each as Readonly<Record<string, unknown>> | null)?.[fault]
      if (config === undefined) return false
      if (fault !== 'abort') return true
      const key = id === 'error' ? 'toolError' : 'status'
      return typeof config === 'object' && config !== null && key in config
    }),
  )
}
