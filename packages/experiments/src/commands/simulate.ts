import {
  atMost,
  count,
  type FlagInput,
  group,
  invalidValue,
  many,
  missing,
  one,
  operation,
} from '#cli'
import { EXPERIMENTS, JSON_OUT } from './past-experiments.ts'

const FLEET = 'Fleet:'
/** Each round takes one, and there are at least 39. */
const MOST_FILES = 39
const MOST_TASKS = 100_000_000

export const EXPERIMENT_SIMULATE = operation({
  name: 'experiment simulate',
  examples: [
    'experiment simulate plan.yaml --pods 500 --fleet-tasks 1e6',
    'experiment simulate plan.yaml --pods 500 --results result.json --json',
  ],
  page: 'docs/guides/simulate.md',
  description: 'predict what a plan would do to a fleet, from measured latencies and errors',
  operands: { form: '<plan>', most: 1 },
  flags: {
    ...group(FLEET, {
      pods: count(
        'number of pods, each with a sidecar and the load of the plan',
        { min: 1, max: 100_000 },
        '1',
      ),
      fleetTasks: one(
        'number',
        'total tasks of the fleet per stage, such as 1e6 (default: the tasks that run during hold)',
        asTasks,
      ),
      results: many(
        'file',
        'result of squall load, or report.json of an experiment, that measured the tools without faults; repeatable (default: the last 20 experiments on the target)',
        (all) => {
          atMost(MOST_FILES, all)
          return all.map(({ text }) => text)
        },
      ),
      seed: count('seed of the simulation', { min: 0, max: 2 ** 32 - 1 }, '1'),
    }),
    ...EXPERIMENTS,
    ...JSON_OUT,
  },
  note: `
Exit code: 0 with a prediction, 1 if the plan or the measurements were rejected, 2 for a usage error or an
invalid plan, 130 if it was interrupted.`,
  parse: ({ fleetTasks: tasks, ...flags }, { operands: [path] }) => {
    if (path === undefined) throw missing('no plan', 'name a plan, such as plan.yaml')
    return { path, tasks, ...flags }
  },
})

/** Parses an integer, also in exponential form. */
function asTasks(given: FlagInput): number {
  const value = /^\d{1,9}(e\d)?$/i.test(given.text) ? Number(given.text) : 0
  if (value >= 1 && value <= MOST_TASKS) return value
  throw invalidValue(given, `is not a number from 1 to ${MOST_TASKS}`, 'write 1000000 or 1e6')
}
