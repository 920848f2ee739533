import { MAX_DURATION_MS } from '../../base/units.ts'
import { type FlagInput, group, type Values } from '../../base/flags/flag.ts'
import {
  asGiven,
  asText,
  count,
  duration,
  many,
  one,
  pairs,
  percent,
} from '../../base/flags/kinds.ts'
import { invalidValue } from '../../base/flags/usage-error.ts'

const RPC_CODE = /^-?\d{1,10}$/
const texts = (given: readonly FlagInput[]): readonly string[] => given.map(({ text }) => text)

/** Declares the options that describe a temporary fault. */
export const FAULT_FLAGS = {
  ...group('The calls:', {
    tool: many('name', 'tool to match, as a name or glob; repeatable (default: every call)', texts),
    method: many('method', 'method to match, such as tools/list; repeatable', texts),
    header: many('name=value', 'header that the request must have; repeatable', pairs),
    percent: percent('percentage of matching calls to inject the fault into', { min: 0, max: 100 }),
    times: count('maximum number of calls to inject the fault into', {
      min: 1,
      max: 1_000_000_000,
    }),
  }),
  ...group('The fault:', {
    delay: duration('delay each call by this duration', { min: 0, max: 3_600_000 }),
    abort: count('respond with this HTTP status', { min: 200, max: 599 }),
    toolError: one('text', 'respond with a tool error that has this text', asText),
    rpcError: one('code', 'respond with a JSON-RPC error that has this code', parseCode),
    fault: many(
      'fault',
      'any fault, written as in a rules file: name, or "name: { parameters }"; repeatable',
      (given) => given,
    ),
    rule: one(
      'yaml',
      'complete rule as in a rules file; --tool, --percent and other options override its keys, and their faults come before its own',
      asGiven<FlagInput>,
    ),
  }),
  ...group('Duration and name:', {
    for: duration('time after which the fault expires; required, unless --rule has for or until', {
      min: 1,
      max: MAX_DURATION_MS,
    }),
    name: one(
      'name',
      'name in metrics and logs (default: the name in --rule, or the next free name, such as added-1)',
      asText,
    ),
  }),
}

/** The options of a temporary fault. */
export type FaultFlags = Values<typeof FAULT_FLAGS>

function parseCode(given: FlagInput): number {
  if (RPC_CODE.test(given.text)) return Number(given.text)
  throw invalidValue(given, 'is not a valid code', 'write an integer, such as -32603')
}
