import { pointerTo } from '../../base/json/json-pointer.ts'
import { oneLine } from '../../base/text/foreign-text.ts'
import { isRecord } from '../../base/values.ts'
import { pathText } from '../file/problem.ts'
import {
  type Converter,
  convertKind,
  hasList,
  kind,
  type Kinds,
  shapesOf,
  typeOf,
} from './converter.ts'
import { Entry } from './entry.ts'
import { leftOut, shape, to } from './fields.ts'
import { Report } from './report.ts'
import { fixedDelay, msText, sharedBy } from './values.ts'
import { exactName } from '../match/text-match.ts'

const NO_ASSERTIONS = leftOut('rules have no assertions; `--as experiment` converts it into a plan')
const BOTH = 'camelCase or snake_case'
const JSON_TYPE = { 'content-type': 'application/json' }

const SCENARIO = shape('the scenario', {
  name: to('prefix of rule names'),
  description: to('a comment'),
  faults: to('`rules`, in the same order'),
  expectedBehavior: NO_ASSERTIONS,
  assertions: NO_ASSERTIONS,
})
const FAULT = shape('each of its faults, or the body of `/chaos/inject`', {
  target: to(
    '`match.tool`; with several faults of a target, `then: stop`: only the first sampled fault acts',
  ),
  config: to('`faults`'),
  durationMs: to('`for`'),
})

/** The faults of a rule; empty for a fault that changes nothing. */
type Faults = readonly object[]

const COMMON = { probability: to('`probability` of the rule') }

const KINDS: Kinds<Faults> = {
  latency: kind(
    shape('`latency`', { type: to('`delay`'), delayMs: to('`fixed`'), ...COMMON }),
    (config) => [{ delay: fixedDelay(config.number('delayMs', undefined, { min: 0 })) }],
  ),
  error: kind(
    shape('`error`', {
      type: to('`abort`'),
      statusCode: to('`status`'),
      message: to('`error` in the JSON of `body`'),
      ...COMMON,
    }),
    (config) => {
      const status = config.number('statusCode', undefined, { min: 200, max: 599 })
      const body = JSON.stringify({ error: config.text('message', 'Chaos injected error') })
      return [{ abort: { status, body, headers: JSON_TYPE } }]
    },
  ),
  timeout: kind(
    shape('`timeout`', { type: to('`hang`, then `reset`'), hangMs: to('`hang.for`'), ...COMMON }),
    (config) => [
      { hang: { for: msText(config.number('hangMs', undefined, { min: 0 })) } },
      { reset: {} },
    ],
  ),
  malformed: kind(
    shape('`malformed`', {
      type: to('`abort` with status 200 and a body that is not JSON'),
      corruptResponse: to('no rule if `false`'),
      ...COMMON,
    }),
    (config) => {
      if (!config.flag('corruptResponse', true)) return idle(config, 'corruptResponse')
      return [{ abort: { status: 200, body: '{"jsonrpc": <corrupted>', headers: JSON_TYPE } }]
    },
  ),
  'connection-refused': kind(
    shape('`connection-refused`', { type: to('`reset`'), ...COMMON }),
    (config) => {
      config.changed('type', 'TCP cannot refuse a single call, so its connection is reset')
      return [{ reset: {} }]
    },
  ),
  'connection-drop': kind(
    shape('`connection-drop`', {
      type: to('`reset` with `at: response`'),
      afterBytes: to('`reset` with `at: stream` and `after.bytes`'),
      afterMs: to('`delay` before the `reset`; left out with `afterBytes`'),
      ...COMMON,
    }),
    (config) => {
      if (config.has('afterBytes')) {
        if (config.has('afterMs'))
          config.leftOut('afterMs', 'not needed, because `afterBytes` decides')
        const bytes = Math.trunc(config.number('afterBytes', 0, { min: 0 }))
        return [{ reset: { at: 'stream', after: { bytes } } }]
      }
      const ms = config.number('afterMs', 0, { min: 0 })
      if (ms > 0) config.changed('afterMs', 'the delay ends before the server receives the call')
      const wait = ms > 0 ? [{ delay: fixedDelay(ms) }] : []
      return [...wait, { reset: { at: 'response' } }]
    },
  ),
  'rate-limit': kind(
    shape('`rate-limit`', {
      type: to('`abort` with status 429'),
      retryAfterSeconds: to('`Retry-After` in `headers`, rounded up'),
      ...COMMON,
    }),
    (config) => {
      const range = { min: 0, max: Number.MAX_SAFE_INTEGER }
      const seconds = Math.ceil(config.number('retryAfterSeconds', undefined, range))
      const headers = { ...JSON_TYPE, 'retry-after': String(seconds) }
      const body = JSON.stringify({ error: 'Too Many Requests' })
      return [{ abort: { status: 429, body, headers } }]
    },
  ),
  'schema-mismatch': kind(
    shape('`schema-mismatch`', {
      type: to('`rewrite`'),
      missingFields: to('`remove`, in the result of the tool instead of the HTTP body'),
      ...COMMON,
    }),
    (config) => {
      const fields = config.texts('missingFields')
      if (fields.length === 0) return idle(config, 'missingFields')
      config.changed('missingFields', 'removed from the result of the tool, not from the HTTP body')
      return [{ rewrite: { remove: fields.map((field) => pointerTo([field])) } }]
    },
  ),
}

export const CHAOS_MONKEY: Converter = {
  source: 'a scenario of mcp-chaos-monkey, or the body of its `/chaos/inject`',
  about:
    'Fields can be in camelCase or snake_case. A target is the name of a client in the code. The rule matches the tool with this name.',
  isRules: true,
  shapes: [SCENARIO, FAULT, ...shapesOf(KINDS)],
  recognizes: (value) => hasList(value, 'faults', ['target', 'config']) || isFault(value),
  convert: (report, value) => {
    if (isFault(value)) {
      const fault = new Entry(report, { value, path: [] }, FAULT, BOTH)
      sayTarget(fault)
      return convertFault(fault)
    }
    const scenario = new Entry(report, { value, path: [] }, SCENARIO, BOTH)
    const description = scenario.text('description', '')
    if (description !== '') report.comment(description)
    const name = scenario.text('name', '')
    const faults = scenario.children('faults', FAULT)
    if (faults[0] !== undefined) sayTarget(faults[0])
    const last = new Map(faults.map((fault, index) => [fault.raw('target'), index]))
    for (const [index, fault] of faults.entries()) {
      convertFault(fault, { scenario: name, first: index < (last.get(fault.raw('target')) ?? 0) })
    }
  },
}

function isFault(value: unknown): boolean {
  return isRecord(value) && 'target' in value && isRecord(value['config'])
}

type FaultEntry = Entry<'target' | 'config' | 'durationMs'>

function sayTarget(fault: FaultEntry): void {
  fault.changed('target', 'imported as a tool name; change `match` if the target is not a tool')
}

/** A fault of the body of `/chaos/inject`, with the keys of its rule. */
export interface InjectedFault {
  readonly target: string
  readonly type: string
  readonly keys: Readonly<Record<string, unknown>>
}

/**
 * Converts the body of `/chaos/inject`, for a limited time in milliseconds. Notes would not be read
 * here: an unknown field, or a field without effect, is an error. The rule acts alone, because
 * further faults may follow.
 */
export function injectedFault(
  body: unknown,
  longest: number,
): InjectedFault | { readonly error: string } {
  const report = new Report()
  const fault = new Entry(report, { value: body, path: [] }, FAULT, BOTH)
  convertFault(fault, { first: true, longest })
  const lost = report.notes.filter((note) => note.kind !== 'changed')
  // A misspelled key explains why another one is missing.
  const [first] = [...lost.filter((note) => note.kind === 'unknown'), ...report.problems, ...lost]
  if (first !== undefined) {
    const { message, path } = first
    const advice = 'kind' in first && !message.endsWith('?') ? '; remove it, or change it' : ''
    const where = path.length === 0 ? '' : `${pathText(path)}: `
    return { error: oneLine(`${where}${message}${advice}`) }
  }
  const { keys = {} } = report.drafts[0] ?? {}
  return { target: fault.text('target'), type: String(typeOf(fault.raw('config'))), keys }
}

interface Place {
  /** The beginning of the rule's name. */
  readonly scenario?: string
  /** True when a later fault may have the same target: the first sampled one acts alone. */
  readonly first?: boolean
  /** The most milliseconds that a fault may last. */
  readonly longest?: number
}

function convertFault(
  fault: FaultEntry,
  { scenario = '', first, longest = Infinity }: Place = {},
): void {
  const target = fault.text('target')
  const config: unknown = fault.raw('config')
  const type = typeOf(config)
  const made = convertKind(KINDS, type, fault, { value: config, path: fault.at('config') })
  const ms = fault.has('durationMs')
    ? fault.number('durationMs', 0, { min: 0, max: longest })
    : undefined
  if (ms === 0) fault.leftOut('durationMs', 'the fault ends at once')
  if (made === undefined || made.result.length === 0 || ms === 0) return
  const name = [scenario, target, String(type)].filter((part) => part !== '').join('-')
  fault.report.rule({ path: fault.path, doubts: made.entry.doubts }, name, {
    match: { tool: exactName(target) },
    ...sharedBy(made.entry.number('probability', 1, { min: 0, max: 1 })),
    ...(ms !== undefined && { for: msText(ms) }),
    // oxlint-disable-next-line unicorn/no-thenable -- a key of rules
    ...(first && { then: 'stop' }),
    faults: made.result,
  })
}

function idle<Key extends string>(config: Entry<Key>, key: Key): Faults {
  config.leftOut(key, 'with this value the fault has no effect')
  return []
}
