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
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { type ControlTool, defineTool, READ_ONLY } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import {
  closed,
  listOf,
  maybeInteger,
  maybeText,
  numberOrNull,
  shaped,
  text,
  textOrNull,
} from './shapes.ts'

const DEFAULT_LAST = 20
const MAX_FACTS = 200

const ENTRY = Type.Object({
  id: Type.String(),
  name: Type.String(),
  startedAt: Type.String(),
  target: Type.Optional(Type.String()),
  environment: Type.Optional(Type.String()),
  verdict: Type.String(),
  stage: Type.Optional(textOrNull),
  code: Type.Optional(textOrNull),
  why: Type.Optional(Type.String()),
})

const STAGE = Type.Object({
  label: Type.String(),
  durationMs: Type.Number(),
  sampled: Type.Number(),
  applied: Type.Number(),
  measured: Type.Object({}),
})

const RESULT = Type.Object({
  ...ENTRY.properties,
  restored: Type.Boolean(),
  mttdMs: Type.Optional(numberOrNull()),
  mttrMs: Type.Optional(numberOrNull()),
  rollbackMs: Type.Optional(numberOrNull()),
  stages: Type.Array(STAGE),
  gates: listOf({ phase: Type.String(), from: Type.String(), gate: Type.String() }),
  facts: listOf({ at: Type.String(), kind: Type.String(), text: Type.String() }),
  proposals: listOf({ why: Type.String(), write: Type.String() }),
})

const LIST_EXPERIMENTS = defineTool({
  name: 'list_experiments',
  title: 'List past experiments',
  description: 'Lists past experiments with their verdicts, the newest last.',
  annotations: READ_ONLY,
  input: closed({
    name: maybeText('Lists only runs of the plan with this name.', 100),
    verdict: Type.Optional(Type.Union(VERDICTS.map((each) => Type.Literal(each)))),
    last: maybeInteger(1, 100, 'Maximum number of runs to list. Default: 20.'),
  }),
  output: Type.Object({ experiments: Type.Array(ENTRY) }),
  run: async ({ name, verdict, last = DEFAULT_LAST }, { control: { access } }) => {
    const runs = selectedRuns(await readHistory(access.experiments), { name, verdict, last })
    const lines = runs.map((run) => `${run.id} ${run.name}: ${run.verdict}`)
    const shown = lines.length === 0 ? 'No run matches.' : lines.join('\n')
    return { text: shown, data: { experiments: runs.map((run) => shaped(ENTRY, run)) } }
  },
})

const GET_EXPERIMENT = defineTool({
  name: 'get_experiment',
  title: 'Show a past experiment',
  description:
    'Shows the result of a run: verdict, phases, margins of the limits, and a timeline. The text content is the report.',
  annotations: READ_ONLY,
  input: closed({ id: text('The ID of a run or a prefix of the ID, or last.', 100) }),
  output: Type.Object({
    ...ENTRY.properties,
    restored: Type.Boolean(),
    stages: Type.Array(Type.Object({})),
  }),
  run: async ({ id }, { control: { access } }) => {
    const result = await pastResult(access.experiments, id)
    const stages = result.stages.map((stage) => shaped(STAGE, stage))
    const facts = result.facts.slice(-MAX_FACTS)
    return { text: experimentMarkdown(result), data: { ...shaped(RESULT, result), stages, facts } }
  },
})

/** The tools about past experiments. */
export const HISTORY_TOOLS: readonly ControlTool[] = [LIST_EXPERIMENTS, GET_EXPERIMENT]

/** Reads the result of a past run. Throws a `DeniedError`. */
export async function pastResult(experiments: string, id: string): Promise<ExperimentResult> {
  try {
    return await readPastResult(experiments, await findRun(experiments, id))
  } catch (error) {
    if (!(error instanceof PastRunError)) throw error
    throw new DeniedError(`${error.message}; call list_experiments`)
  }
}
