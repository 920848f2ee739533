import {
  asText,
  count,
  duration,
  elementsOf,
  group,
  invalidCombination,
  many,
  missing,
  one,
  oneOf,
  operation,
  type RequestOf,
  toggle,
} from '#cli'
import { FAULT_NAMES, type FaultName } from '../sweep/faults.ts'
import { isGood, VERDICT_NAMES } from '../sweep/judge.ts'
import { PLAY_FLAGS } from './tape.ts'

const TASK = 'The task:'
const CELLS = 'The cells (one fault in one call each):'
const OUTPUT = 'Output:'
const BAD = VERDICT_NAMES.filter((name) => !isGood(name))
const FAULT_FORM = `use some of ${FAULT_NAMES.join(', ')}`
const VERDICT_FORM = `use some of ${BAD.join(', ')}`
const FORM = 'add its command after --, as in -- node agent.js'

export const SWEEP_FLAGS = {
  ...group(TASK, {
    tape: one(
      'file',
      'tape of the task, recorded with squall run --tape or squall stdio --tape',
      asText,
    ),
    check: one(
      'command',
      "shell command that checks the task's output on standard input; exit code 0 accepts the run",
      asText,
    ),
    match: PLAY_FLAGS.match,
    cellTimeout: duration('timeout per run', { min: 100, max: 3_600_000 }, '30s'),
  }),
  ...group(CELLS, {
    faults: many(
      'names',
      `faults to inject, separated by commas: ${FAULT_NAMES.join(', ')} (default: all)`,
      (given) => elementsOf(given, FAULT_FORM)?.map(oneOf(FAULT_NAMES)) ?? FAULT_NAMES,
    ),
    cell: many(
      'id',
      'run only this cell, by call number and fault, such as 3-timeout; repeatable',
      (given) => given.map(asText),
    ),
    repeat: count('number of runs per cell', { min: 1, max: 1000 }, '1'),
    parallel: count('number of concurrent runs (default: one for each available CPU)', {
      min: 1,
      max: 256,
    }),
    budget: duration(
      'time after which no further cell is started',
      { min: 1000, max: 86_400_000 },
      '1h',
    ),
  }),
  ...group(OUTPUT, {
    results: one(
      'directory',
      'directory of the results (default: squall-sweep, or squall-sweep-CELL with --cell)',
      asText,
    ),
    resume: toggle('keep the results of finished cells, and run the remaining cells'),
    accept: many(
      'verdicts',
      `verdicts that do not fail the sweep, separated by commas: ${BAD.join(', ')}`,
      (given) => elementsOf(given, VERDICT_FORM)?.map(oneOf(BAD)) ?? [],
    ),
    junit: one('file', 'file to write the cells to, as JUnit XML', asText),
    json: toggle('print the result as JSON'),
  }),
}

export const SWEEP = operation({
  name: 'sweep',
  examples: [
    'sweep --tape book-flight.tape -- node agent.js',
    'sweep --tape book-flight.tape --check "grep -q booked" -- python agent.py {url}',
    'sweep --tape book-flight.tape --cell 3-timeout -- node agent.js',
  ],
  page: 'docs/guides/sweep.md',
  description: 'find the single failures that break a task, using a tape of its calls',
  operands: { form: '<command...>', most: Infinity },
  flags: SWEEP_FLAGS,
  fromEnvironment: false,
  note: `
The command gets the server URL as MCP_URL and {url}, or a stdio program as MCP_COMMAND and {command}.
Each run has its own server and sidecar, and one fault in one call.
Exit code: 0 if no single failure breaks the task, 1 if one does, cells were not run or no fault was
injected, 130 after Ctrl-C; --resume continues.`,
  parse: ({ tape, ...flags }, { operands: command }) => {
    if (tape === undefined) {
      throw missing('--tape is missing', 'record one with squall run --tape FILE')
    }
    if (command.length === 0) throw missing('no command', FORM)
    if (flags.resume && flags.cell.length > 0) {
      throw invalidCombination('--cell and --resume are mutually exclusive', 'remove one of them')
    }
    const [cell] = flags.cell
    const results = flags.results ?? (cell === undefined ? 'squall-sweep' : `squall-sweep-${cell}`)
    const faults: readonly FaultName[] = FAULT_NAMES.filter((name) => flags.faults.includes(name))
    return { ...flags, results, faults, tape, command }
  },
})

export type SweepRequest = RequestOf<typeof SWEEP>
