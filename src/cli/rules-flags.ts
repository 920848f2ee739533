import type { FlagSpec } from './flag-table.ts'

const OUTPUT = 'Output:'
const CALL = 'The call:'

/** The options of `squall validate`. */
export const VALIDATE_FLAGS = [
  { name: 'json', group: OUTPUT, help: 'the same as --format json' },
  {
    name: 'format',
    value: 'format',
    group: OUTPUT,
    help: 'text, json, or github for annotations (default: text)',
  },
] as const satisfies readonly FlagSpec[]

/** The options of `squall explain`. */
export const EXPLAIN_FLAGS = [
  {
    name: 'method',
    value: 'method',
    group: CALL,
    help: 'its method (default: tools/call, or what --prompt or --resource stand for)',
  },
  { name: 'tool', value: 'name', group: CALL, help: 'the tool that it calls' },
  { name: 'prompt', value: 'name', group: CALL, help: 'the prompt that it gets' },
  { name: 'resource', value: 'uri', group: CALL, help: 'the resource that it reads' },
  {
    name: 'header',
    value: 'name=value',
    repeatable: true,
    group: CALL,
    help: 'a header of its request; repeat it for more',
  },
  { name: 'args', value: 'json', group: CALL, help: 'its arguments, as a JSON object' },
  { name: 'session', value: 'id', group: CALL, help: 'its session' },
  { name: 'client', value: 'name/version', group: CALL, help: 'the client that makes it' },
  {
    name: 'transport',
    value: 'transport',
    default: 'streamable-http',
    group: CALL,
    help: 'streamable-http or http+sse',
  },
  { name: 'era', value: 'revision', group: CALL, help: 'its protocol revision, as 2025-11-25' },
  { name: 'json', group: OUTPUT, help: 'print JSON' },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall validate`. */
export type ValidateFlag = (typeof VALIDATE_FLAGS)[number]['name']

/** The name of an option of `squall explain`. */
export type ExplainFlag = (typeof EXPLAIN_FLAGS)[number]['name']
