import { inOrder, splice } from '../base/json/json-edit.ts'
import { pointerTo } from '../base/json/json-pointer.ts'
import { isOther } from '../mcp/call.ts'
import { duration, oneOf, percentage, section } from './lib/config-schema.ts'
import {
  type FalseValue,
  type Fault,
  type FaultContext,
  type Frame,
  type ParameterProblem,
  defineFault,
} from './fault.ts'
import type { Static, TOptional, TProperties } from 'typebox'
import { type LieContext, findLie, LIE_KINDS, shuffled } from './lib/falsify/lie.ts'
import { type Earlier, LiedCalls } from './lib/falsify/lied-calls.ts'
import { type Leaf, rawOf, viewOf } from './lib/falsify/result-view.ts'
import { frameText, withText } from './lib/json/frame-json.ts'
import { changingLast } from './lib/json/json-part.ts'
import { idText, withId } from './lib/json/message-id.ts'
import { pointerProblem } from './lib/json/rewrite-schema.ts'
import { isPlainResult } from './lib/kept-calls.ts'
import { names } from './lib/names.ts'
import { NOTHING } from './lib/outlook.ts'
import { mayHaveText } from './lib/text-outlook.ts'
import * as Type from 'typebox'

const KINDS = [...LIE_KINDS, 'stale'] as const
type Kind = (typeof KINDS)[number]

/** Kinds whose values come from earlier results. */
const FROM_EARLIER: readonly Kind[] = ['id', 'text', 'stale']

/** Without `number` or `date`. */
const PERCENT = 5
const DAY = 86_400_000

const schema = section({
  number: kind('Changes a number, with the same sign, decimals and unit.', {
    by: percentage({ default: `${PERCENT}%`, description: 'Sets by how much, about; above 0.' }),
  }),
  date: kind('Moves a date of ISO 8601, with or without a time.', {
    by: duration({ default: '1d', description: 'Sets how far, earlier or later; above 0.' }),
  }),
  boolean: kind('Turns `true` into `false`, or the reverse, in a result without other words.'),
  enum: kind('Replaces a text by another one that the `outputSchema` of the tool allows there.'),
  id: kind('Replaces an id by one that an earlier result had in the same field.'),
  text: kind('Replaces a name, an address or a code by one of an earlier result, as with `id`.'),
  omit: kind('Leaves out a row of a list; counts and totals beside the list follow.'),
  duplicate: kind('Repeats a row of a list; counts and totals beside the list follow.'),
  order: kind('Swaps two rows of a list.'),
  unit: kind('Multiplies a number by 1000, or converts a temperature between °C and °F.'),
  stale: kind('Responds with an earlier result of the same call, as `replay` does.'),
  at: Type.Optional(
    names({
      description:
        'Selects the values: JSON Pointers into structured content or the JSON of a text, where `*` matches all items and members, and keys or globs of keys. Default: any value but cursors, versions and timestamps of the response.',
      examples: ['temperature', ['/temperature', 'humid*']],
    }),
  ),
  count: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 20,
    description: 'Changes up to this number of values.',
  }),
  onUse: Type.Optional(
    oneOf(['block', 'allow'], {
      description:
        'Decides about a later call of the task that contains the false value. `block`: it fails with a tool error. `allow`: the upstream receives it. Default: `block` for tools with `destructiveHint` or without annotations, else `allow`.',
    }),
  ),
})

type Config = Static<typeof schema>

/** A plausible wrong value in a valid result, to see whether an agent looks again before it acts. */
export const falsify = defineFault({
  name: 'falsify',
  summary: 'puts a plausible wrong value into a result',
  schema,
  meets:
    'A valid result in which one value is wrong, and nothing says so. Structured content, JSON in texts and other texts say the same, and structured content stays valid against the `outputSchema` that the client has listed. Within a task, the same call gets a false result once and the true one from then on (counted as `within_limit`), so that an agent can find out; without tasks, the same holds for each caller. Values of at least five digits or six characters are recognised in later calls of the task. Failed calls, task handles and images are unchanged, and so are results without a plausible change (counted as `no_plausible_change`). Without a kind, the seed chooses one that applies.',
  elsewhere: 'Other fault injectors have no equivalent: they do not read results.',
  example: `- name: wrong-weather
  match: { tool: get_weather }
  percent: 20
  faults:
    - falsify: { number: { by: 5% }, at: /temperature }`,
  check({ number, date, at = [] }) {
    const problems: ParameterProblem[] = []
    const message = 'must be above 0'
    if (number?.by === 0) problems.push({ path: ['number', 'by'], message })
    if (date?.by === 0) problems.push({ path: ['date', 'by'], message })
    for (const each of [at].flat().filter((one) => one.startsWith('/'))) {
      const wrong = pointerProblem(each)
      if (wrong !== undefined) problems.push({ path: ['at'], message: wrong })
    }
    return problems
  },
  outlook(config, { call, identified }) {
    if (call === undefined || isOther(call) || !mayHaveText(call)) return NOTHING
    const named = kindsOf(config)
    const isKept = named.every((each) => FROM_EARLIER.includes(each))
    if (isKept && !identified) return { cannot: 'no_caller' }
    const needs = isKept ? 'an earlier result' : 'a result with a value to change'
    return { by: 'response', does: 'its result contains a plausible wrong value', needs }
  },
  create(config): Fault {
    return { changes: true, ...changingLast((ctx, frame) => falsified(ctx, frame, config)) }
  },
})

/** The schema of a kind, which a rule names by its key. */
function kind<Properties extends TProperties = Record<never, never>>(
  description: string,
  properties = {} as Properties,
): TOptional<ReturnType<typeof section<Properties>>> {
  return Type.Optional(section(properties, { description }))
}

/** Returns the kinds that a rule names; all of them when it names none. */
function kindsOf(config: Config): readonly Kind[] {
  const named = KINDS.filter((each) => config[each] !== undefined)
  return named.length === 0 ? KINDS : named
}

async function falsified(
  ctx: FaultContext,
  frame: Frame,
  config: Config,
): Promise<Frame | undefined> {
  if (ctx.call === undefined || isOther(ctx.call) || !isPlainResult(frame.message)) return undefined
  const text = frameText(frame)
  if (text === undefined) return undefined
  const kinds = kindsOf(config)
  const calls = ctx.memory(() => new LiedCalls(ctx.keeping))
  const isKept = kinds.some((each) => FROM_EARLIER.includes(each))
  const earlier: Earlier = isKept ? calls.keep(ctx, text) : { others: [] }
  if (calls.has(ctx)) {
    ctx.withinLimit()
    return undefined
  }
  const changed = await withLies(ctx, config, text, earlier)
  if (changed.done.size === 0) {
    const isAlone = kinds.every((each) => FROM_EARLIER.includes(each))
    ctx.cannot((isAlone ? earlier.cannot : undefined) ?? 'no_plausible_change')
    return undefined
  }
  ctx.injected([...changed.done].join(', '))
  calls.add(ctx)
  ctx.host.falsified(changed.values, config.onUse)
  return withText(frame, changed.text)
}

/** Changes a result step by step, each step seeing the result of the one before. */
async function withLies(ctx: FaultContext, config: Config, original: string, earlier: Earlier) {
  const { at, count, number, date } = config
  const { random, nextLoop } = ctx
  const done = new Set<Kind>()
  const values: FalseValue[] = []
  /** The places and the JSON of values that are false already. */
  const isFalse = new Set<string>()
  const truths = new Set<string>()
  let others: readonly Leaf[] | undefined
  let text = original
  const facts: LieContext = {
    share: (number?.by ?? PERCENT) / 100,
    ms: date?.by ?? DAY,
    at: at === undefined ? undefined : [at].flat(),
    schema: ctx.outputSchema(),
    earlier: () => (others ??= earlier.others.flatMap(leavesIn)),
    isFree: (leaf) => !isFalse.has(pointerTo(leaf.keys)) && !isFalse.has(rawOf(leaf)),
    truths,
    random,
    nextLoop,
  }
  let left = count
  for (const kind of shuffled(kindsOf(config), random)) {
    while (left > 0) {
      const view = viewOf(text)
      const stale = kind === 'stale' && done.size === 0 ? staleText(text, earlier) : undefined
      if (view === undefined || (kind === 'stale' && stale === undefined)) break
      const lie = kind === 'stale' ? undefined : await findLie(kind, view, facts)
      if (stale === undefined && lie === undefined) break
      text = stale ?? splice(text, inOrder(lie!.edits))
      done.add(kind)
      values.push(...(lie?.values ?? []))
      for (const { trueText } of values) truths.add(trueText)
      // A second look at words might take the false value for a true one.
      left = lie?.leaf === undefined ? 0 : left - 1
      if (lie?.leaf === undefined) break
      const pointer = pointerTo(lie.leaf.keys)
      isFalse.add(pointer)
      const now = leavesIn(text).find(({ keys }) => pointerTo(keys) === pointer)
      if (now !== undefined) isFalse.add(rawOf(now))
    }
  }
  return { text, done, values }
}

/** Returns an earlier result of the same call, with the id of this one, unless it is the same. */
function staleText(text: string, { same }: Earlier): string | undefined {
  const id = idText(text)
  const stale = same === undefined || id === undefined ? undefined : withId(same, id)
  return stale === text ? undefined : stale
}

function leavesIn(text: string): readonly Leaf[] {
  return viewOf(text)?.parts.flatMap(({ leaves }) => leaves) ?? []
}
