import * as Type from 'typebox'
import { experimentMarkdown } from '../experiment/experiment-report.ts'
import {
  findRun,
  PastRunError,
  readHistory,
  readPastResult,
  selectedRuns,
} from '../experiment/history.ts'
import { VERDICTS } from '../experiment/verdicts.ts'
import type { ExperimentResult, HistoryEntry } from '../experiment/experiment-result.ts'
import type { Control } from './control.ts'
import { type ControlTool, defineTool, READ_ONLY } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'
import {
  closed,
  listOf,
  maybeInteger,
  maybeText,
  numberOrNull,
  text,
  textOrNull,
} from './shapes.ts'

const DEFAULT_LAST = 20
const MAX_FACTS = 200

const entry = {
  id: Type.String(),
  name: Type.String(),
  startedAt: Type.String(),
  target: Type.Optional(Type.String()),
  environment: Type.Optional(Type.String()),
  verdict: Type.String(),
  stage: Type.Optional(textOrNull),
  code: Type.Optional(textOrNull),
  why: Type.Optional(Type.String()),
}

/** Returns the tools about past experiments. */
export function historyTools({ access }: Control): readonly ControlTool[] {
  const { experiments } = access
  return [listTool(experiments), getTool(experiments)]
}

function listTool(experiments: string): ControlTool {
  return defineTool({
    name: 'list_experiments',
    title: 'List past experiments',
    description: 'Lists past experiments with their verdicts, the newest last.',
    annotations: READ_ONLY,
    input: closed({
      name: maybeText('Lists only runs of the plan with this name.', 100),
      verdict: Type.Optional(Type.Union(VERDICTS.map((each) => Type.Literal(each)))),
      last: maybeInteger(1, 100, 'Number of runs; 20 by default.'),
    }),
    output: Type.Object({ experiments: listOf(entry) }),
    run: async ({ name, verdict, last = DEFAULT_LAST }) => {
      const runs = selectedRuns(await readHistory(experiments), { name, verdict, last })
      const listed = runs.map(entryOf)
      const lines = listed.map((run) => `${run.id} ${run.name}: ${run.verdict}`)
      const shown = lines.length === 0 ? 'There are no such runs.' : lines.join('\n')
      return { text: shown, data: { experiments: listed } }
    },
  })
}

function getTool(experiments: string): ControlTool {
  return defineTool({
    name: 'get_experiment',
    title: 'Show a past experiment',
    description:
      'Shows the result of a run: verdict, phases, margins of the limits, and what happened when. The text is the report.',
    annotations: READ_ONLY,
    input: closed({ id: text('The id of a run or its beginning, or last.', 100) }),
    output: Type.Object({
      ...entry,
      restored: Type.Boolean(),
      mttdMs: Type.Optional(numberOrNull()),
      mttrMs: Type.Optional(numberOrNull()),
      rollbackMs: Type.Optional(numberOrNull()),
      stages: listOf({
        label: Type.String(),
        durationMs: Type.Number(),
        sampled: Type.Number(),
        applied: Type.Number(),
        measured: Type.Object({}),
      }),
      gates: listOf({ phase: Type.String(), from: Type.String(), gate: Type.String() }),
      facts: listOf({ at: Type.String(), kind: Type.String(), text: Type.String() }),
      proposals: listOf({ why: Type.String(), write: Type.String() }),
    }),
    run: async ({ id }) => {
      const result = await pastResult(experiments, id)
      return { text: experimentMarkdown(result), data: shownResult(result) }
    },
  })
}

/** Reads the result of a past run. Throws a `DeniedError`. */
export async function pastResult(experiments: string, id: string): Promise<ExperimentResult> {
  try {
    return await readPastResult(experiments, await findRun(experiments, id))
  } catch (error) {
    if (!(error instanceof PastRunError)) throw error
    throw new DeniedError(`${error.message}; call list_experiments`)
  }
}

function entryOf({ id, name, startedAt, target, environment, ...run }: HistoryEntry) {
  const { verdict, stage, code, why } = run
  return { id, name, startedAt, target, environment, verdict, stage, code, why }
}

function shownResult(result: ExperimentResult) {
  const { restored, mttdMs, mttrMs, rollbackMs, gates, facts, proposals } = result
  const stages = result.stages.map(({ label, durationMs, sampled, applied, measured }) => {
    return { label, durationMs, sampled, applied, measured }
  })
  const times = { restored, mttdMs, mttrMs, rollbackMs }
  return { ...entryOf(result), ...times, stages, gates, facts: facts.slice(-MAX_FACTS), proposals }
}
