import { fieldsOf } from '#base'

/** The behaviour of a tool that a change of it makes worth testing. */
export type Symptom = 'latency' | 'errors' | 'size'

/** A failure of a tool that an experiment can imitate. */
export interface Question {
  readonly id: string
  /** The fault by its name in rules. */
  readonly fault: string
  /** The parameter that distinguishes it from other questions of the fault. */
  readonly key?: string
  readonly asks: string
  readonly symptom: Symptom
  /** The fault with its parameters. */
  readonly write: object
  /** True when the calls fail even if the callers are prepared for it. */
  readonly fails: boolean
  /** True for a question about tools whose results other tools use. */
  readonly ofSources?: true
}

/** The questions to ask about each tool. */
export const QUESTIONS: readonly Question[] = [
  {
    id: 'slow',
    fault: 'delay',
    asks: 'Do its callers tolerate slow responses?',
    symptom: 'latency',
    write: { delay: { uniform: { min: '1s', max: '3s' } } },
    fails: false,
  },
  {
    id: 'error',
    fault: 'abort',
    key: 'toolError',
    asks: 'Do its callers handle an error result?',
    symptom: 'errors',
    write: { abort: { toolError: 'connection to the database lost' } },
    fails: true,
  },
  {
    id: 'unavailable',
    fault: 'abort',
    key: 'status',
    asks: 'Do its callers handle status 503?',
    symptom: 'errors',
    write: { abort: { status: 503 } },
    fails: true,
  },
  {
    id: 'silent',
    fault: 'hang',
    asks: 'Do its callers time out when no response arrives?',
    symptom: 'latency',
    write: { hang: {} },
    fails: true,
  },
  {
    id: 'limited',
    fault: 'rateLimit',
    asks: 'Do its callers honour Retry-After?',
    symptom: 'errors',
    write: { rateLimit: { retryAfter: '1s' } },
    fails: true,
  },
  {
    id: 'truncated',
    fault: 'truncate',
    asks: 'Do its callers notice a truncated result?',
    symptom: 'size',
    write: { truncate: { content: { percent: 50 } } },
    fails: false,
  },
  {
    id: 'wrong',
    fault: 'falsify',
    asks: 'Do its callers verify a wrong value before they act on it?',
    symptom: 'size',
    write: { falsify: {} },
    fails: false,
    ofSources: true,
  },
]

/** Returns the questions that the faults of a rule ask. */
export function questionsOf({ faults }: Readonly<Record<string, unknown>>): readonly Question[] {
  const written: readonly unknown[] = Array.isArray(faults) ? faults : []
  return QUESTIONS.filter(({ fault, key }) =>
    written.some((each) => {
      if (each === fault) return key === undefined
      const config = fieldsOf(each)[fault]
      return config !== undefined && (key === undefined || key in fieldsOf(config))
    }),
  )
}
