/**
 * The verdicts about what an agent did after a fault or an error, in order of precedence: the first
 * one that applies counts.
 */
export const VERDICTS = {
  ambiguous:
    'calls may belong to several tasks, because only the session or the client names the task: calls overlapped, or a session began while others of the same client were open; or the client cancelled the call and made several others before it ended',
  duplicate_execution:
    'the upstream executed a tool whose result the client did not get, and then executed a retry with the same arguments',
  possible_duplicate:
    'a call of a tool that declares neither `idempotentHint` nor `readOnlyHint` was repeated with the same arguments, and each may have been executed: at least one got no response',
  runaway: 'the tool was called again more than `--task-retries` times without a success',
  ignored_retry_after: 'the tool was called again before the time that `Retry-After` named',
  honoured_retry_after: 'the tool was called again at or after the time that `Retry-After` named',
  retried: 'the next call was the same: the same tool and arguments, also in a new session',
  retried_changed: 'the next call was of the same tool, with other arguments',
  reinitialized:
    'the session was lost, and the client began another; or it began one, by `initialize` or `server/discover`, and made no call',
  relisted: 'the agent asked for a list, such as `tools/list`',
  switched_tool: 'the agent called another tool, or read a resource or prompt',
  continued: 'the call succeeded despite the fault, and was not repeated',
  gave_up: 'nothing followed within `--task-window`',
} as const satisfies Readonly<Record<string, string>>

export type Verdict = keyof typeof VERDICTS

/** The verdicts by precedence. */
export const VERDICT_NAMES = Object.keys(VERDICTS) as readonly Verdict[]
