import * as Type from 'typebox'
import { FALSIFIED_VERDICTS } from '../../agents/falsified-verdicts.ts'
import { KEY_KINDS } from '../../agents/key-kinds.ts'
import { FINDING_NAMES } from '../../agents/finding-kinds.ts'
import { TOOL_HINTS } from '../../agents/server-tools.ts'
import { VERDICT_NAMES } from '../../agents/verdicts.ts'
import { ORIGINS, OUTCOMES } from '../../mcp/call.ts'
import { count, flag, list, maybe, NAME, seconds, text, time, word } from './schema-parts.ts'

// The JSON of tasks: /api/tasks, /api/verdicts and /api/agents.

const MAX_TASKS = 200
export const MAX_SERIES = 2_000
export const MAX_FINDINGS = 2_000

const task = text(NAME, 'Task key or a prefix of its hash, depending on `--log-ids`.')
const by = word(KEY_KINDS, 'The source of the key.')

/** The verdict about one fault or error. */
export const verdictSchema = Type.Object({
  at: time('When the verdict was reached.'),
  task,
  by,
  method: text(NAME, 'The method of the call.'),
  tool: maybe(text(NAME, 'The tool of a `tools/call`.')),
  client: maybe(text(NAME, 'Name and version of the client.')),
  session: maybe(text(40, 'Prefix of a session hash.')),
  faults: list(
    text(40, ''),
    200,
    'The faults that took effect, and the origin of an error that no fault caused.',
  ),
  outcome: word(OUTCOMES, 'Outcome of the call, as seen by the client.'),
  origin: word(ORIGINS, 'Origin of the outcome.'),
  verdict: word(VERDICT_NAMES, 'What the agent did next.'),
  retries: count('How many times the agent called the tool again before the verdict.'),
  idempotent: maybe(
    flag('For `duplicate_execution`: whether the tool declares itself idempotent.'),
  ),
  trace: maybe(text(40, 'The trace ID from `traceparent`, or of the exported span.')),
  traceUrl: maybe(text(2100, 'Link to a sampled trace, from `--trace-url`.')),
})

/** The tasks, those used last first. */
export const tasksSchema = Type.Object({
  since: time('When the counts started.'),
  windowSeconds: seconds('The value of `--task-window`.'),
  open: count('Tasks that have not ended.'),
  soFar: Type.Object({
    ok: count('Open tasks without faults and errors.'),
    recovered: count('Open tasks whose last call succeeded after faults or errors.'),
    failed: count('Open tasks whose last call failed.'),
  }),
  ended: Type.Object({
    ok: count('Tasks without faults and errors.'),
    recovered: count('Tasks whose last call succeeded after faults or errors.'),
    failed: count('Tasks whose last call failed.'),
  }),
  calls: count('Calls of tasks, without retries.'),
  retries: count('Calls that repeated a failed or changed call with the same arguments.'),
  wasted: count('Wasted calls: retries that failed again, and calls that were executed twice.'),
  silent: count('Results that a fault changed, and after which the agent continued.'),
  tcaf: seconds('Calls per task, without retries.'),
  retriesPerTask: seconds('Retries per task.'),
  blastRadius: seconds('The share of ended tasks that failed, from 0 to 1.'),
  totals: Type.Unsafe<Readonly<Record<string, number>>>(
    Type.Object(
      Object.fromEntries(
        VERDICT_NAMES.map((verdict) => [verdict, count('Faults and errors with this verdict.')]),
      ),
    ),
  ),
  waiting: count('Faults and errors without a verdict.'),
  after: list(
    Type.Object({
      tool: text(NAME, 'The tool; empty for other methods.'),
      fault: text(40, 'The fault, or the origin of an error that no fault caused.'),
      verdict: text(40, 'What the agent did next.'),
      count: count('The number of verdicts.'),
    }),
    MAX_SERIES,
    'The verdicts by tool and fault, the most frequent first. With several faults on a call, the verdict counts for each.',
  ),
  duplicates: list(
    Type.Object({
      tool: text(NAME, 'The tool; empty for other methods.'),
      idempotent: flag('Whether the tool declares itself idempotent.'),
      count: count('Number of calls that were executed twice.'),
    }),
    MAX_SERIES,
    'The calls that were executed twice, by tool.',
  ),
  falsified: list(
    Type.Object({
      tool: text(NAME, 'The tool whose result had false values.'),
      verdict: word(FALSIFIED_VERDICTS, 'What the agent did with the false values.'),
      count: count('The number of results.'),
    }),
    MAX_SERIES,
    'The results with false values from the fault `falsify`, by tool and verdict.',
  ),
  falseUses: list(
    Type.Object({
      tool: text(NAME, 'The tool that was called with a false value; empty for other methods.'),
      hint: word(TOOL_HINTS, 'The effect that the tool declares.'),
      count: count('The number of calls, blocked or not.'),
    }),
    MAX_SERIES,
    'The calls with a false value in their arguments, by tool.',
  ),
  flows: list(
    Type.Object({
      from: text(NAME, 'The tool whose result contained the value first.'),
      to: text(NAME, 'The tool that was called with the value.'),
      hint: word(TOOL_HINTS, 'The effect that the called tool declares.'),
      calls: count('The number of observed calls.'),
    }),
    MAX_SERIES,
    'Tools that are called with values from results of other tools, in a sample of the traffic; the most frequent first.',
  ),
  tasks: list(
    Type.Object({
      task,
      by,
      beganAt: time('When the first call arrived.'),
      open: flag('Whether the task is still open.'),
      result: word(['ok', 'recovered', 'failed'], 'The result so far, based on the last call.'),
      calls: count('Calls without retries.'),
      retries: count('Number of retries.'),
      wasted: count('Wasted calls: retries that failed again, and calls that were executed twice.'),
      events: count('Calls that failed, or on which a fault took effect.'),
      waiting: count('Events without a verdict.'),
      verdicts: list(verdictSchema, 10, 'The last verdicts, oldest first.'),
    }),
    MAX_TASKS,
    'The last 200 tasks, the most recently used first.',
  ),
})

const glob = (what: string) =>
  maybe(text(512, `${what}; \`*\` and \`?\` are wildcards. Repeatable.`))

/** The filters of /api/tasks and /api/verdicts: a verdict passes that fits all of them. */
export const verdictQuery = Type.Object({
  task: glob('Verdicts of this task'),
  tool: glob('Verdicts about calls of this tool'),
  fault: glob('Verdicts after this fault, or `real`'),
  verdict: maybe(word(VERDICT_NAMES, 'This verdict. Repeatable.')),
})

/** One kind of behaviour, and how often it was seen. */
const habit = {
  kind: word(FINDING_NAMES, 'The kind of behaviour.'),
  client: maybe(text(NAME, 'Name and version of the client.')),
  taskKind: by,
  tool: text(NAME, 'The tool, or the method of other calls.'),
  count: count('Calls that show the behaviour.'),
  of: count('Calls that could have shown the behaviour.'),
}

/** The findings about agents. */
export const agentsSchema = Type.Object({
  since: time('When the counts started.'),
  windowSeconds: seconds('The value of `--task-window`.'),
  waiting: count('Faults and errors without a verdict.'),
  total: count('The total number of findings, including findings that are not listed.'),
  findings: list(
    Type.Object({
      ...habit,
      severity: word(['high', 'medium', 'low'], 'The severity of the finding.'),
      source: word(
        ['agent', 'load'],
        'The source of the calls: `agent`, or `load` for `squall load`.',
      ),
      sentence: text(1000, 'A human-readable sentence about the finding.'),
      advice: text(NAME, 'What to change in the agent.'),
      cure: maybe(
        Type.Object({
          name: text(40, 'The name of the fix.'),
          page: text(NAME, 'The section of the docs with example code.'),
        }),
      ),
      calls: list(
        Type.Object({
          tool: text(NAME, 'The tool, or the method.'),
          at: time('When the call ended.'),
          task,
        }),
        5,
        'The last calls that show the behaviour, oldest first.',
      ),
    }),
    MAX_FINDINGS,
    'Findings, the most harmful first: 20, or all of them with `all`.',
  ),
  rest: list(
    Type.Object(habit),
    MAX_FINDINGS,
    'With `all`: behaviours that were too rare for a finding.',
  ),
})

/** The filters of /api/agents. */
export const agentsQuery = Type.Object({
  client: glob('Findings about this client, by name and version'),
  since: maybe(
    text(40, 'Findings since a time such as `2026-11-29T05:00:00Z`, or of the last `10m`.'),
  ),
  all: maybe(word(['true', 'false'], 'All findings, not only the 20 most harmful.')),
})
