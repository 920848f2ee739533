import { duration } from '../base/text/shown-numbers.ts'

/** The numbers of a finding. */
export interface FindingFacts {
  readonly tool: string
  readonly count: number
  /** The chances to behave so. */
  readonly of: number
  /** The worst wait, and what was asked for at that time, in milliseconds. */
  readonly waited: number
  readonly asked: number
  /** The most calls that were open, sessions in a row, or else the retries that are allowed. */
  readonly most: number
  /** The tasks in which the agent looked again first. */
  readonly again: number
}

interface KindOfFinding {
  readonly severity: 'high' | 'medium' | 'low'
  /** The sentence, with the names of facts in braces; `{share}` is `count of of`. */
  readonly says: string
  readonly advice: string
  /** The section of docs/guides/resilient-clients.md. */
  readonly cure?: string
  /** The cases, and their share of the chances, from which on this is a finding. */
  readonly least?: number
  readonly share?: number
}

const WRITE = {
  severity: 'high',
  advice: 'Send an idempotency key, or read before you write again.',
  cure: 'idempotency-key',
} as const

/** Describes each kind of finding, the most harmful first. */
export const FINDING_KINDS = {
  used_false_value: {
    severity: 'high',
    says: 'In {share} tasks, the agent used a wrong value that {tool} had returned; in {again}, it looked the value up again first.',
    advice:
      'Look the value up by ID before you pay, compare two sources, and ask a person above a set amount.',
    least: 1,
  },
  double_write: {
    ...WRITE,
    says: '{tool} was called again {times} after its response was lost, so the server executed {calls} twice.',
    least: 1,
  },
  possible_double_write: {
    ...WRITE,
    says: '{tool} was called again after {share} calls that got no response; the server may have executed both calls.',
  },
  session_loop: {
    severity: 'high',
    says: 'The agent started a new session {times} after errors without a successful call in between, up to {most} in a row.',
    advice: 'Start a new session only when the old session is lost; try once, then give up.',
    cure: 'session',
  },
  parallel_storm: {
    severity: 'high',
    says: '{calls} of {tool} started while 9 or more other calls of the task were in flight, up to {most} at once.',
    advice: 'Limit concurrent calls.',
  },
  runaway: {
    severity: 'high',
    says: '{tool} was retried without end: {share} errors were followed by more than {most} retries without success.',
    advice: 'Limit the attempts of a call, then report the error.',
    cure: 'back-off',
  },
  ignored_retry_after: {
    severity: 'medium',
    says: 'Retry-After of {tool} was ignored in {share} cases: the first retry came after {waited} instead of {asked}.',
    advice: 'Honour Retry-After: wait that long before any retry.',
    cure: 'retry-after',
  },
  no_back_off: {
    severity: 'medium',
    says: '{all} retries of {tool} were sent within 0.2 s, without back-off.',
    advice: 'Use exponential back-off with jitter.',
    cure: 'back-off',
    share: 0.5,
  },
  no_time_limit: {
    severity: 'medium',
    says: 'In {share} cases in which {tool} hung, the client waited up to {waited} without a timeout.',
    advice: 'Set a timeout for each call.',
    cure: 'time-limit',
  },
  used_changed_result: {
    severity: 'medium',
    says: 'The agent continued with {share} results of {tool} that a fault had changed.',
    advice:
      'Validate results against the output schema of the tool, and check that their values are plausible.',
  },
  gave_up: {
    severity: 'medium',
    says: 'The agent gave up at once after {share} retryable errors of {tool}.',
    advice: 'Retry 429, 5xx and lost connections a few times, with back-off.',
    cure: 'back-off',
  },
  switched_tool: {
    severity: 'low',
    says: 'The agent switched to another tool after {share} retryable errors of {tool}.',
    advice: 'Retry the same tool before you choose another.',
    cure: 'back-off',
  },
  changed_arguments: {
    severity: 'low',
    says: '{tool} was called again with other arguments after {share} retryable errors.',
    advice: 'Repeat the call unchanged: its arguments did not cause the error.',
    cure: 'back-off',
  },
} as const satisfies Readonly<Record<string, KindOfFinding>>

export type FindingKind = keyof typeof FINDING_KINDS

/** The kinds, the most harmful first. */
export const FINDING_NAMES = Object.keys(FINDING_KINDS) as readonly FindingKind[]

/** The open calls of a task from which on the last one is part of a storm. */
export const STORM = 10
const LEAST = 3

/** Returns true for cases that are enough for a sentence. */
export function isFinding(kind: FindingKind, count: number, of: number): boolean {
  const { least = LEAST, share = 0 }: KindOfFinding = FINDING_KINDS[kind]
  return count >= least && count >= of * share
}

/** Says a finding in words. */
export function sentenceOf(kind: FindingKind, facts: FindingFacts): string {
  const { tool, count, of, waited, asked, most, again } = facts
  const words: Readonly<Record<string, string | number>> = {
    tool,
    most,
    again,
    share: `${count} of ${of}`,
    all: count === of ? `All ${count}` : `${count} of ${of}`,
    times: count === 1 ? 'once' : `${count} times`,
    calls: count === 1 ? '1 call' : `${count} calls`,
    waited: duration(waited),
    asked: duration(asked),
  }
  return FINDING_KINDS[kind].says.replaceAll(/\{(\w+)\}/g, (_, name: string) => `${words[name]}`)
}
