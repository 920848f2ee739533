import * as Type from 'typebox'
import { experimentMarkdown } from '../experiment/experiment-report.ts'
import { findRun, PastRunError, readHistory, readPastResult } from '../experiment/history.ts'
import { VERDICTS } from '../experiment/verdicts.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import type { Control } from './control.ts'
import { type ControlTool, defineTool, READ_ONLY } from './control-tool.ts'
import { DeniedError } from './denied-error.ts'

const DEFAULT_LAST = 20
const MAX_FACTS = 200

const text = (description: string) => Type.String({ description, maxLength: 100 })
const maybeText = Type.Union([Type.String(), Type.Null()])
const maybeNumber = Type.Union([Type.Number(), Type.Null()])
const entry = {
  id: Type.String(),
  name: Type.String(),
  startedAt: Type.String(),
  target: Type.Optional(Type.String()),
  environment: Type.Optional(Type.String()),
  verdict: Type.String(),
  stage: Type.Optional(maybeText),
  code: Type.Optional(maybeText),
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
    input: Type.Object(
      {
        name: Type.Optional(text('Lists only runs of the plan with this name.')),
        verdict: Type.Optional(Type.Union(VERDICTS.map((each) => Type.Literal(each)))),
        last: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 100, description: 'Number of runs; 20 by default.' }),
        ),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({ experiments: Type.Array(Type.Object(entry)) }),
    run: async ({ name, verdict, last = DEFAULT_LAST }) => {
      const runs = (await readHistory(experiments)).filter(
        (run) =>
          (name === undefined || run.name === name) &&
          (verdict === undefined || run.verdict === verdict),
      )
      const listed = runs.slice(-last).map((run) => ({
        id: run.id,
        name: run.name,
        startedAt: run.startedAt,
        target: run.target,
        environment: run.environment,
        verdict: run.verdict,
        stage: run.stage,
        code: run.code,
        why: run.why,
      }))
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
    input: Type.Object(
      { id: text('The id of a run or its beginning, or last.') },
      { additionalProperties: false },
    ),
    output: Type.Object({
      ...entry,
      restored: Type.Boolean(),
      mttdMs: Type.Optional(maybeNumber),
      mttrMs: Type.Optional(maybeNumber),
      rollbackMs: Type.Optional(maybeNumber),
      stages: Type.Array(
        Type.Object({
          label: Type.String(),
          durationMs: Type.Number(),
          sampled: Type.Number(),
          applied: Type.Number(),
          measured: Type.Object({}),
        }),
      ),
      gates: Type.Array(
        Type.Object({ phase: Type.String(), from: Type.String(), gate: Type.String() }),
      ),
      facts: Type.Array(
        Type.Object({ at: Type.String(), kind: Type.String(), text: Type.String() }),
      ),
      proposals: Type.Array(Type.Object({ why: Type.String(), write: Type.String() })),
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

function shownResult(result: ExperimentResult) {
  const { id, name, startedAt, target, environment, verdict, stage, code, why } = result
  const { restored, mttdMs, mttrMs, rollbackMs, gates, facts, proposals } = result
  return {
    id,
    name,
    startedAt,
    target,
    environment,
    verdict,
    stage,
    code,
    why,
    restored,
    mttdMs,
    mttrMs,
    rollbackMs,
    stages: result.stages.map(({ label, durationMs, sampled, applied, measured }) => ({
      label,
      durationMs,
      sampled,
      applied,
      measured,
    })),
    gates,
    facts: facts.slice(-MAX_FACTS),
    proposals,
  }
}
