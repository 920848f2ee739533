import type { Policy } from '#rules'
import { join } from 'node:path'
import * as Type from 'typebox'
import { oneLine, plainText } from '#base'
import { readFlags, readText } from '#cli'
import { SWEEP_FLAGS } from '../commands/sweep.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { FAULT_NAMES } from '../sweep/faults.ts'
import { badCells, readSweep } from '../sweep/sweep-result.ts'
import { againCommand, cellSentence, sweepText } from '../sweep/sweep-report.ts'
import { sweep } from '../sweep/sweep.ts'
import { type Control, defineTool, FOREIGN, READ_ONLY } from './control-tool.ts'
import { progressOf } from './run-proposal.ts'
import { closed, maybeInteger, shaped, text } from './shapes.ts'

const TASK = text('Name of a task under `sweeps` in the policy.', 63)
/** The options of `squall sweep` by their defaults. */
const DEFAULTS = readFlags(SWEEP_FLAGS, new Map(), {})
const MAX_RULE = 64 * 1024

const CELL = Type.Object({ id: Type.String(), verdict: Type.String() })

/** Runs a task that a person wrote into the policy: agents give no commands. */
export const SWEEP_TASK = defineTool({
  name: 'sweep_task',
  title: 'Sweep a task',
  description:
    'Finds the single failures that break a task: runs its command once for each call of its tape and each fault. Calls no real tool.',
  annotations: { readOnlyHint: false, destructiveHint: false },
  input: closed({
    task: TASK,
    faults: Type.Optional(
      Type.Array(Type.Unsafe<(typeof FAULT_NAMES)[number]>({ enum: FAULT_NAMES })),
    ),
    repeat: maybeInteger(1, 20, 'Number of runs of each cell.'),
  }),
  output: Type.Object({ left: Type.Number(), bad: Type.Array(CELL) }),
  run: async ({ task: name, faults = [], repeat = 1 }, call) => {
    const { control, context } = call
    const policy = control.limits.trusted()
    const { tape, command, check } = taskOf(name, policy.sweeps)
    const target = `sweep of ${name}`
    const denyTwice = (): void => {
      if (control.running.on(target) === undefined) return
      throw new DeniedError(`the ${target} is running; wait until it has finished`)
    }
    denyTwice()
    await call.audit({ outcome: 'started', target })
    // Nothing is awaited between this and the start.
    denyTwice()
    const notify = progressOf(call)
    const results = directoryOf(name, control)
    const asked = { ...DEFAULTS, tape, command, check, repeat, results }
    const chosen = FAULT_NAMES.filter((each) => faults.length === 0 || faults.includes(each))
    const request = { ...asked, faults: chosen, budget: policy.maxDuration }
    const result = await control.running.run({ id: name, target }, context.mcpReq.signal, (stop) =>
      sweep(request, stop, (done, all) => notify?.(`${done} of ${all} cells`)),
    )
    const bad = badCells(result).map((cell) => shaped(CELL, cell))
    return {
      text: plainText(sweepText(result, results)),
      data: { left: result.left, bad },
    }
  },
})

/** Explains a cell of the last sweep of a task. */
export const EXPLAIN_CELL = defineTool({
  name: 'explain_cell',
  title: 'Explain a cell of a sweep',
  description:
    'Explains a cell of the last sweep_task: its verdict, its runs with the last lines of command output, the rule, and the command that repeats the cell.',
  annotations: READ_ONLY,
  input: closed({ task: TASK, cell: text('A cell, such as 3-timeout.', 40) }),
  output: Type.Object({ verdict: Type.String(), runs: Type.Array(Type.Object({})) }),
  run: async ({ task: name, cell: id }, { control }) => {
    taskOf(name, control.limits.read().sweeps)
    const directory = directoryOf(name, control)
    const result = await readSweep(directory)
    const cell = result?.cells.find((each) => each.id === id)
    if (result === undefined || cell === undefined) {
      const known = result?.cells.map((each) => each.id).slice(0, 100) ?? []
      throw new DeniedError(`unknown cell; ${known.join(', ') || 'call sweep_task first'}`)
    }
    const rule = await readText(join(directory, 'cells', `${cell.id}.yaml`), MAX_RULE, 'the rule')
    const lines = cell.runs.flatMap(({ verdict, exitCode, seconds, lines: printed }) => [
      `run: ${verdict}, exit code ${exitCode}, ${seconds} s; it printed:`,
      ...printed.map((line) => `  ${oneLine(line, 300)}`),
    ])
    const again = `Again: ${againCommand(cell, result)}`
    return {
      text: [FOREIGN, cellSentence(cell, result), ...lines, rule.trim(), again].join('\n'),
      data: { verdict: cell.verdict, runs: cell.runs },
    }
  },
})

/** Returns a task by its name. Throws a `DeniedError`. */
function taskOf(name: string, tasks: NonNullable<Policy['sweeps']> = []) {
  const found = tasks.find((task) => task.name === name)
  if (found !== undefined) return found
  const known = tasks.map((task) => task.name).join(', ')
  throw new DeniedError(
    known === ''
      ? 'the policy allows no tasks; ask a person to add `sweeps`'
      : `unknown task; the policy allows ${known}`,
  )
}

function directoryOf(name: string, { access }: Control): string {
  return join(access.experiments, 'sweeps', name)
}
