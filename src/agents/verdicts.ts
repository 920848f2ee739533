/**
 * The verdicts about what an agent did after a fault or an error, in order of precedence: the first
 * one that applies counts.
 */
export const VERDICTS = {
  ambiguous:
    'several calls may be the reaction: with the key `session` or `client`, calls overlapped or the client started a session while others were open; with other keys, the client cancelled the call within 50 ms after the last of several further calls',
  duplicate_execution:
    'the upstream executed a call whose result the client did not receive, and then executed a retry with the same arguments',
  possible_duplicate:
    'a call to a tool that declares neither `idempotentHint` nor `readOnlyHint` was repeated with the same arguments; at least one call got no response, so both may have been executed',
  runaway: 'the tool was called again more than `--task-retries` times without success',
  ignored_retry_after: 'the tool was called again before the `Retry-After` delay had elapsed',
  honoured_retry_after: 'the tool was called again after the `Retry-After` delay had elapsed',
  retried: 'the next call repeated the tool and its arguments, possibly in a new session',
  retried_changed: 'the next call repeated the tool with other arguments',
  reinitialized:
    'the client started a new session after losing one, or sent `initialize` or `server/discover` without a further call',
  relisted: 'the agent requested a list, such as `tools/list`',
  switched_tool: 'the agent called another tool, or read a resource or prompt',
  continued:
    'the call succeeded despite the fault and, if a fault changed its result, was not repeated',
  gave_up: 'no call followed within `--task-window`',
} as const satisfies Readonly<Record<string, string>>

export type Verdict = keyof typeof VERDICTS

/** The verdicts by precedence. */
export const VERDICT_NAMES = Object.keys(VERDICTS) as readonly Verdict[]
