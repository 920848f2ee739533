import { inOrder, splice } from '../base/json/json-edit.ts'
import { pointerTo } from '../base/json/json-pointer.ts'
import { type Call, isOther } from '../mcp/call.ts'
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
import {
  type Lie,
  type LieContext,
  fieldOf,
  findLie,
  LIE_KINDS,
  shuffled,
} from './lib/falsify/lie.ts'
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
  number: variant('Changes a number, but keeps its sign, decimals and unit.', {
    by: percentage({
      default: `${PERCENT}%`,
      description: 'Sets the approximate relative change. Must be above 0.',
    }),
  }),
  date: variant(
    'Shifts a date such as `2026-03-01` or `2026-03-01T09:00:00Z`; without a time, by whole days.',
    {
      by: duration({
        default: '1d',
        description: 'Shifts the date by this duration, forwards or backwards. Must be above 0.',
      }),
    },
  ),
  boolean: variant('Inverts a boolean. Results that also contain prose are unchanged.', {}),
  enum: variant('Replaces a string with another value that the `outputSchema` lists.', {}),
  id: variant('Replaces an ID with one from the same field of an earlier result.', {}),
  text: variant(
    'Replaces a name, address or code with one from the same field of an earlier result.',
    {},
  ),
  omit: variant('Removes a row from a list, and adjusts counts and totals beside the list.', {}),
  duplicate: variant('Repeats a row in a list, and adjusts counts and totals beside the list.', {}),
  order: variant('Swaps two rows in a list.', {}),
  unit: variant('Multiplies a number by 1000, or converts a temperature between °C and °F.', {}),
  stale: variant('Responds with an earlier result of the same call, like `replay`.', {}),
  at: Type.Optional(
    names({
      description:
        'Selects values by JSON Pointer (`*` matches any array item or object member), key or key glob. Default: all values except metadata, such as cursors, versions and timestamps.',
      examples: ['temperature', ['/temperature', 'humid*']],
    }),
  ),
  count: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 20,
    description: 'Changes at most this many values.',
  }),
  onUse: Type.Optional(
    oneOf(['block', 'allow'], {
      description:
        'Sets what happens to later calls of the task that contain the false value. `block`: rejects them with a tool error. `allow`: forwards them. Default: `block` for tools with `destructiveHint: true`, or with neither `readOnlyHint: true` nor `destructiveHint: false`; otherwise `allow`.',
    }),
  ),
})

type Config = Static<typeof schema>

/** A plausible wrong value in a valid result, to see whether an agent looks again before it acts. */
export const falsify = defineFault({
  name: 'falsify',
  title: 'return false values in results',
  summary: 'replaces a value in a result with a plausible but wrong one',
  schema,
  clientSees:
    'Clients receive a valid result that contains a false value, with no sign of the change except the marker. Structured content and text contain the same value, and structured content still conforms to the listed `outputSchema`. Only one of several identical calls in a task (or, without tasks, by a caller) receives a false result. Later ones receive the true result (counted as `within_limit`), so an agent can verify the value. Squall recognizes a false value in later calls of the task if it is a number with at least five digits (not counting zeros at either end) or a string with at least six characters. Failed calls, task handles and images are unchanged. Results also stay unchanged (counted as `not_applicable`) if they contain no value to falsify plausibly, or if Squall could recognize but not track the false value, for example a number that occurred before. If the rule names no kind of change (`number`, `date` and so on), Squall uses the seed to select from those that apply.',
  otherTools: 'Other fault injectors have no equivalent, because they do not read results.',
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
    if (!mayBeFalse(call)) return NOTHING
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
function variant<Properties extends TProperties>(
  description: string,
  properties: Properties,
): TOptional<ReturnType<typeof section<Properties>>> {
  return Type.Optional(section(properties, { description }))
}

function mayBeFalse(call: Call | undefined): boolean {
  return call !== undefined && !isOther(call) && mayHaveText(call)
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
  const text = mayBeFalse(ctx.call) && isPlainResult(frame.message) ? frameText(frame) : undefined
  if (text === undefined) return undefined
  const kinds = kindsOf(config)
  const calls = ctx.memory(() => new LiedCalls(ctx.cacheBudget))
  const isKept = kinds.some((each) => FROM_EARLIER.includes(each))
  const earlier: Earlier = isKept ? calls.keep(ctx, text) : { others: [] }
  const work = new Falsehood(ctx, config, earlier, text)
  for (const kind of shuffled(kinds, ctx.random)) await work.add(kind)
  if (work.done.size === 0) {
    const isAlone = kinds.every((each) => FROM_EARLIER.includes(each))
    ctx.cannot((isAlone ? earlier.cannot : undefined) ?? 'no_plausible_change')
    return undefined
  }
  if (calls.has(ctx)) {
    ctx.withinLimit()
    return undefined
  }
  if (!ctx.host.falsified(work.values, config.onUse)) {
    ctx.cannot('not_followed')
    return undefined
  }
  ctx.injected([...work.done].join(', '))
  calls.add(ctx)
  return withText(frame, work.text)
}

/** A result that becomes false step by step, each step seeing the result of the one before. */
class Falsehood {
  text: string
  readonly values: FalseValue[] = []
  readonly done = new Set<Kind>()
  readonly #earlier: Earlier
  readonly #facts: LieContext
  /** The places and the JSON of values that are false already, and the true ones. */
  readonly #used = new Set<string>()
  #others: ReadonlyMap<string, readonly Leaf[]> | undefined
  #left: number

  constructor(ctx: FaultContext, config: Config, earlier: Earlier, text: string) {
    const { at, count, number, date } = config
    this.text = text
    this.#earlier = earlier
    this.#left = count
    this.#facts = {
      share: (number?.by ?? PERCENT) / 100,
      ms: date?.by ?? DAY,
      at: at === undefined ? undefined : [at].flat(),
      schema: ctx.outputSchema(),
      earlier: () => (this.#others ??= byField(earlier.others.flatMap(leavesIn))),
      used: this.#used,
      random: ctx.random,
      nextLoop: ctx.nextLoop,
    }
  }

  /** Makes as many changes of a kind as are left. */
  async add(kind: Kind): Promise<void> {
    if (kind === 'stale') {
      const stale = this.done.size === 0 ? staleText(this.text, this.#earlier) : undefined
      if (stale === undefined) return
      this.text = stale
      this.done.add(kind)
      this.#left = 0
      return
    }
    while (this.#left > 0) {
      const view = viewOf(this.text)
      const lie = view && (await findLie(kind, view, this.#facts))
      if (lie === undefined) return
      this.text = splice(this.text, inOrder(lie.edits))
      this.done.add(kind)
      this.values.push(...lie.values)
      // A second look at words might take the false value for a true one.
      this.#left = lie.leaf === undefined ? 0 : this.#left - 1
      this.#use(lie)
    }
  }

  #use({ values, leaf }: Lie): void {
    for (const { trueText } of values) this.#used.add(trueText)
    const pointer = leaf && pointerTo(leaf.keys)
    const now = leavesIn(this.text).find(({ keys }) => pointerTo(keys) === pointer)
    if (pointer !== undefined) this.#used.add(pointer)
    if (now !== undefined) this.#used.add(rawOf(now))
  }
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

function byField(leaves: readonly Leaf[]): ReadonlyMap<string, readonly Leaf[]> {
  const all = new Map<string, Leaf[]>()
  for (const leaf of leaves) {
    const own = all.get(fieldOf(leaf))
    if (own === undefined) all.set(fieldOf(leaf), [leaf])
    else own.push(leaf)
  }
  return all
}
