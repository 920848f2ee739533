import * as Type from 'typebox'
import { count, list, NAME, nullableNumber, seconds, text, time } from '../schema-parts.ts'

const behaviour = Type.Object({
  tool: text(130, 'The tool.'),
  calls: count('Calls, without those that a fault ended.'),
  errors: count('The calls among them that failed.'),
  p95: seconds('The 95th percentile of the latency of the upstream; `null` when unknown.'),
  bytes: nullableNumber('The mean size of a result; `null` when unknown.'),
  perTask: nullableNumber('Calls by a task that calls the tool since the start, without retries.'),
})

const rank = Type.Object({
  tool: text(130, 'The tool.'),
  fault: text(40, 'The fault.'),
  question: text(40, 'What the fault imitates, in one word.'),
  asks: text(NAME, 'What the experiment finds out.'),
  score: Type.Number({ description: 'From 0 to 3.' }),
  reasons: list(text(NAME, ''), 10, 'The parts of the score, with their numbers.'),
  plan: text(4_000, 'A plan of an experiment, as YAML.'),
})

/** The tools and faults to test next. */
export const nextSchema = Type.Object({
  since: time('When the last minutes began: 10 to 15 minutes ago, or at the start.'),
  tools: list(behaviour, 250, 'The tools that were called in the last minutes.'),
  ranks: list(rank, 20, 'The most urgent tests, the first one first.'),
})
