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
    says: 'In {share} tasks the agent used a wrong value that {tool} had returned; in {again} it looked it up again first.',
    advice: 'Look it up by id before you pay; compare two sources; ask a person above an amount.',
    least: 1,
  },
  double_write: {
    ...WRITE,
    says: '{tool} was called again {times} after its response was lost; the server had executed it: {calls} twice.',
    least: 1,
  },
  possible_double_write: {
    ...WRITE,
    says: '{tool} was called again after {share} calls that got no response; the server may have executed both.',
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
    says: '{tool} was called again and again: {share} errors were followed by more than {most} retries without a success.',
    advice: 'Limit the attempts of a call, and then report the error.',
    cure: 'back-off',
  },
  ignored_retry_after: {
    severity: 'medium',
    says: 'Retry-After of {tool} was ignored in {share} cases; the first retry came after {waited} instead of {asked}.',
    advice: 'Honour Retry-After: wait for that time before any retry.',
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
    says: 'The client waited without a timeout in {share} cases in which {tool} hung, up to {waited}.',
    advice: 'Set a timeout for each call.',
    cure: 'time-limit',
  },
  used_changed_result: {
    severity: 'medium',
    says: 'The agent continued with {share} results of {tool} that a fault had changed.',
    advice: 'Check results against the output schema of the tool and for plausible values.',
  },
  gave_up: {
    severity: 'medium',
    says: 'The agent gave up at once after {share} errors of {tool} that a retry may fix.',
    advice: 'Retry a few times after 429, 5xx and lost connections, with a pause.',
    cure: 'back-off',
  },
  switched_tool: {
    severity: 'low',
    says: 'The agent switched to another tool after {share} errors of {tool} that a retry may fix.',
    advice: 'Retry the same tool before you choose another.',
    cure: 'back-off',
  },
  changed_arguments: {
    severity: 'low',
    says: '{tool} was called again with other arguments after {share} errors that a retry may fix.',
    advice: 'Repeat the call as it was: its arguments were not the cause.',
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
