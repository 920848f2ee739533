import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/base/seeded-random.ts'
import { falsify } from '../../src/filters/falsify.ts'
import { rounds } from '../support/rounds.ts'
import { Random } from '../support/random.ts'
import { Context, frames, texts, TOOL_CALL } from './context.ts'
import { findings, parameters } from './fault-text.ts'
import { resultFrame } from './results.ts'

type Config = Parameters<typeof falsify.create>[0]
type Fields = Record<string, unknown>
interface Result {
  readonly structuredContent?: Fields
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
}

const words = (...list: readonly string[]): Result['content'] =>
  list.map((text) => ({ type: 'text', text }))

interface Setup {
  readonly schema?: object
  readonly earlier?: readonly object[]
  readonly seed?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Falsifies one result, after earlier ones of other calls. */
async function falsified(config: string, result: object, setup: Setup = {}) {
  const { schema, earlier = [], seed = 1, headers = { authorization: 'a' } } = setup
  const fault = falsify.create(parameters('falsify', config) as Config)
  const first = new Context({ headers })
  const play = async (each: object, n: number) => {
    const call = { ...TOOL_CALL, params: { name: 'search', arguments: { n } } }
    const ctx = new Context({ after: first, task: {}, headers, call })
    ctx.schema = schema
    Object.assign(ctx, { random: seededRandom(seed + n) })
    const [text] = await texts(fault.onResponse!(ctx, frames(resultFrame(JSON.stringify(each)))))
    const changed = (JSON.parse(text!) as { result: Result }).result
    return { ctx, text: text!, result: changed, values: ctx.falsified }
  }
  for (const [n, each] of earlier.entries()) await play(each, n + 1)
  return play(result, 0)
}

/** The time that this process computed: other processes do not count. */
const cpuMs = (): number => process.cpuUsage().user / 1000

const QUOTE = { price: 4187.23, currency: 'EUR', id: 'INV-20417', day: '2026-05-20' }
const copied = (fields: Fields, ...prose: readonly string[]): Result => ({
  structuredContent: fields,
  content: words(JSON.stringify(fields, null, 1), ...prose),
})

it.each([
  ['4187.23 EUR', /^\d{4}\.\d\d EUR$/],
  ['€4,187.23.', /^€\d,\d{3}\.\d\d\.$/],
  ['4.187,23 €', /^\d\.\d{3},\d\d €$/],
  ['4\u00a0187,23', /^\d\u00a0\d{3},\d\d$/],
  ["CHF 4'187.23", /^CHF \d'\d{3}\.\d\d$/],
  ['about 4,187, or 4187.2', /^about \d,\d{3}, or \d{4}\.\d$/],
])('changes a number that a text writes as %s', async (prose, form) => {
  const { result, values } = await falsified('{ number: {} }', copied(QUOTE, prose))
  const price = result.structuredContent!['price'] as number
  expect(Math.abs(price / QUOTE.price - 1)).toBeGreaterThan(0.04)
  expect(Math.abs(price / QUOTE.price - 1)).toBeLessThan(0.06)
  expect(values).toEqual([{ falseText: price.toFixed(2), trueText: '4187.23', kind: 'number' }])
  const text = result.content[1]!.text
  expect(text).toMatch(form)
  expect(text).not.toContain(/\d.*/.exec(prose)![0])
  const digits = String(Math.floor(price))
  expect(text.replace(/[^\d]/g, '')).toContain(digits.slice(0, 3))
})

it.each([
  ['number', { price: 20 }, /^(?:19|21)$/],
  ['number: { by: 50% }', { price: -8.5 }, /^-(?:1[0-9]|[0-9])\.\d$/],
  ['number: { by: 0.001% }', { price: 3 }, /^[24]$/],
  ['number', { price: '120 kg' }, /^"1\d\d kg"$/],
  ['unit', { weight: 12.5 }, /^12500\.0$/],
  ['unit', { temperature: 20.5 }, /^68\.9$/],
  ['unit', { temp_f: 68 }, /^20$/],
  ['unit', { weather: '20 °C' }, /^"68 °C"$/],
  ['date', { day: '2024-02-28' }, /^"2024-02-2[79]"$/],
  ['date: { by: 1h }', { at: '2026-05-20T23:30+02:00' }, /^"2026-05-2(?:0T22|1T00):30\+02:00"$/],
  [
    'date: { by: 1s }',
    { at: '2026-05-20 10:00:00.123' },
    /^"2026-05-20 (?:10:00:01|09:59:59)\.123"$/,
  ],
  ['boolean', { ok: true }, /^false$/],
])('keeps the way in which a value is written: %s of %j', async (kind, fields, form) => {
  const config = kind.includes(':') ? `{ ${kind} }` : `{ ${kind}: {} }`
  const { text, ctx } = await falsified(config, { structuredContent: fields })
  expect(ctx.effects).toBe(1)
  expect(/\{"\w+":([^{}]*)\}/.exec(text)![1]).toMatch(form)
})

it.each([
  ['number', { n: 0 }],
  ['number', { order_id: 41872 }],
  ['number', { cursor: 41872 }],
  ['number', { n: 1e30 }],
  ['unit', { temperature: -40 }],
  ['date', { day: '2026-02-30' }],
  ['date: { by: 1h }', { day: '2026-02-20' }],
  ['boolean', { n: 1 }],
  ['omit', { rows: [1] }],
  ['order', { rows: [1, 1] }],
  ['enum', { status: 'open' }],
  ['id', { id: 'INV-1' }],
  ['stale', { id: 'INV-1' }],
])('changes nothing where no change is plausible: %s of %j', async (kind, fields) => {
  const config = kind.includes(':') ? `{ ${kind} }` : `{ ${kind}: {} }`
  const { result, ctx } = await falsified(config, { structuredContent: fields })
  expect(result.structuredContent).toEqual(fields)
  expect([ctx.effects, ctx.reached]).toEqual([0, ['no_plausible_change']])
})

it.each(['{ boolean: {} }', '{ omit: {} }', '{ duplicate: {} }', '{ order: {} }'])(
  'leaves %s alone where words may say the same',
  async (config) => {
    const fields = { ok: true, rows: [1, 2] }
    const { ctx } = await falsified(config, copied(fields, 'There are two, and all is well.'))
    expect(ctx.reached).toEqual(['no_plausible_change'])
  },
)

it('leaves a short number alone when it may stand for something else in a text', async () => {
  const twice = await falsified('{ number: {} }', copied({ price: 20 }, '20 EUR on day 20'))
  expect(twice.ctx.reached).toEqual(['no_plausible_change'])
  const other = await falsified(
    '{ number: {}, at: price }',
    copied({ price: 20, age: 20 }, '20 EUR'),
  )
  expect(other.ctx.reached).toEqual(['no_plausible_change'])
  const once = await falsified('{ number: {} }', copied({ price: 20 }, '20 EUR'))
  expect(once.result.content[1]!.text).toBe(
    `${String(once.result.structuredContent!['price'])} EUR`,
  )
})

it('changes one of several equal short numbers, at the same place of each copy', async () => {
  const rows = { rows: [{ n: 20 }, { n: 20 }] }
  const same = await falsified('{ number: {}, at: /rows/1/n }', copied(rows))
  expect(same.result.structuredContent).toEqual({ rows: [{ n: 20 }, { n: expect.any(Number) }] })
  expect(JSON.parse(same.result.content[0]!.text)).toEqual(same.result.structuredContent)
  const apart = { structuredContent: rows, content: words('{"n":20}', '{"n":20}') }
  const unsure = await falsified('{ number: {} }', apart)
  expect(unsure.ctx.reached).toEqual(['no_plausible_change'])
})

it('lets counts and totals follow the rows of a list', async () => {
  const rows = [1.5, 2.25, 10].map((price, n) => ({ price, name: `n${n}` }))
  const fields = { rows, count: 3, total: 13.75, other: 3 }
  for (const kind of ['omit', 'duplicate']) {
    const { result } = await falsified(`{ ${kind}: {} }`, copied(fields))
    const after = result.structuredContent as typeof fields
    expect(after.count).toBe(after.rows.length)
    expect(after.rows).toHaveLength(kind === 'omit' ? 2 : 4)
    expect(after.total).toBe(after.rows.reduce((sum, { price }) => sum + price, 0))
    expect(after.other).toBe(3)
    expect(JSON.parse(result.content[0]!.text)).toEqual(after)
  }
})

it('takes ids and names from earlier results of the same caller alone', async () => {
  const earlier = [copied({ ...QUOTE, id: 'INV-99312' })]
  const { result, values } = await falsified('{ id: {} }', copied(QUOTE, 'See INV-20417.'), {
    earlier,
  })
  expect(result.structuredContent!['id']).toBe('INV-99312')
  expect(result.content[1]!.text).toBe('See INV-99312.')
  expect(values).toEqual([{ falseText: 'INV-99312', trueText: 'INV-20417', kind: 'text' }])
  const unknown = await falsified('{ id: {} }', copied(QUOTE), { earlier, headers: {} })
  expect(unknown.ctx.reached).toEqual(['no_caller'])
})

it('replaces a text by another member of the schema', async () => {
  const schema = { properties: { status: { enum: ['open', 'paid', null] } } }
  const { result } = await falsified('{ enum: {} }', copied({ status: 'open' }), { schema })
  expect(result.structuredContent).toEqual({ status: 'paid' })
  const consts = { properties: { status: { oneOf: [{ const: 'open' }, { const: 'shut' }] } } }
  const other = await falsified('{ enum: {} }', copied({ status: 'open' }), { schema: consts })
  expect(other.result.structuredContent).toEqual({ status: 'shut' })
})

it('responds with an earlier result of the same call', async () => {
  const fault = falsify.create(parameters('falsify', '{ stale: {} }') as Config)
  const first = new Context({ session: 's' })
  const play = async (price: number) => {
    const ctx = new Context({ after: first, session: 's' })
    const frame = resultFrame(JSON.stringify({ structuredContent: { price } }))
    return [...(await texts(fault.onResponse!(ctx, frames(frame)))), ctx.effects, ctx.limited]
  }
  expect((await play(1)).slice(1)).toEqual([0, 0])
  const [text, ...counts] = await play(2)
  expect([text, ...counts]).toEqual([expect.stringContaining('{"price":1}'), 1, 0])
  expect((await play(3)).slice(1)).toEqual([0, 1])
})

it('gives the same call of a task the false value once, and the true one from then on', async () => {
  const fault = falsify.create(parameters('falsify', '{ number: {} }') as Config)
  const first = new Context()
  const play = async (n: number, task: object | undefined, session = 's') => {
    const call = { ...TOOL_CALL, params: { arguments: { n } } }
    const ctx = new Context({ after: first, session, call, ...(task && { task }) })
    await texts(fault.onResponse!(ctx, frames(resultFrame('{"structuredContent":{"n":4187.23}}'))))
    return ctx.effects === 1 && ctx.limited === 0
  }
  const [a, b] = [{}, {}]
  expect(await play(1, a)).toBe(true)
  expect(await play(1, a)).toBe(false)
  expect(await play(2, a)).toBe(true)
  expect(await play(1, b)).toBe(true)
  expect(await play(1, undefined)).toBe(true)
  expect(await play(1, undefined)).toBe(false)
  expect(await play(1, undefined, 'other')).toBe(true)
  // The task of a call may become clear by the next one.
  expect(await play(3, undefined)).toBe(true)
  expect(await play(3, {})).toBe(false)
  expect(await play(3, {}, 'other')).toBe(true)
})

it('changes as many values as `count` says, each once', async () => {
  const fields = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`n${i}`, 10_001.5 + i]))
  const { result, values } = await falsified('{ number: {}, count: 3 }', copied(fields))
  const after = result.structuredContent!
  expect(Object.keys(fields).filter((key) => fields[key] !== after[key])).toHaveLength(3)
  expect(values).toHaveLength(3)
})

it('leaves failed calls, task handles and results without values alone', async () => {
  for (const result of [
    { isError: true, structuredContent: QUOTE },
    { task: { taskId: 'a', ttl: 41_872 } },
    { resultType: 'input_required', structuredContent: QUOTE },
  ]) {
    const { ctx } = await falsified('{}', result)
    expect([ctx.effects, ctx.reached]).toEqual([0, []])
  }
  const image = { content: [{ type: 'image', data: 'MTIzNDU2', mimeType: 'image/png' }] }
  expect((await falsified('{}', image)).ctx.reached).toEqual(['no_plausible_change'])
})

/** Generates results with their schemas, from one source of choices. */
class Results {
  readonly #random: Random

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  /** Returns a value and its schema. */
  #value(depth: number): readonly [unknown, object] {
    const random = this.#random
    switch (random.int(0, depth > 0 ? 9 : 7)) {
      case 0: {
        const value = random.int(-100_000, 100_000)
        const step = random.pick([1, 1, 5])
        const bounds = { minimum: value * step - random.int(0, 9000), maximum: value * step + 9000 }
        return [value * step, { type: 'integer', multipleOf: step, ...bounds }]
      }
      case 1:
        return [random.int(1, 900_000) / 100, { type: 'number', exclusiveMinimum: 0 }]
      case 2:
        return [random.chance(0.5), { type: 'boolean' }]
      case 3: {
        const list = ['open', 'paid', 'cancelled', 'refunded'].slice(random.int(0, 2))
        return [
          random.pick(list),
          random.chance(0.5) ? { enum: list } : { oneOf: list.map((each) => ({ const: each })) },
        ]
      }
      case 4:
        return [
          `2026-0${random.int(1, 9)}-1${random.int(0, 9)}`,
          { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' },
        ]
      case 5:
        return [random.pick(['Bern', 'Lausanne', 'Oerlikon']), { type: 'string', maxLength: 8 }]
      case 6:
        return [
          `${random.int(1, 9999)} EUR`,
          { anyOf: [{ type: 'string', minLength: 5 }, { type: 'null' }] },
        ]
      case 7:
        return [null, { type: ['null', 'string'] }]
      case 8: {
        const { fields, schema } = this.fields(depth - 1)
        return [fields, schema]
      }
      default: {
        const { fields, schema } = this.fields(depth - 1)
        const rows = random.list(4, () =>
          random.chance(0.3) ? fields : { ...fields, n: random.int(0, 50) },
        )
        return [
          rows,
          {
            type: 'array',
            items: { ...schema, additionalProperties: true },
            maxItems: random.int(rows.length, 5),
            uniqueItems:
              random.chance(0.1) &&
              new Set(rows.map((row) => JSON.stringify(row))).size === rows.length,
          },
        ]
      }
    }
  }

  fields(depth: number): { readonly fields: Fields; readonly schema: object } {
    const fields: Fields = {}
    const properties: Fields = {}
    const keys = ['price', 'status', 'day', 'city', 'order_id', 'rows', 'note', 'total', 'count']
    for (const key of keys.filter(() => this.#random.chance(0.6))) {
      ;[fields[key], properties[key]] = this.#value(depth)
    }
    return {
      fields,
      schema: {
        type: 'object',
        properties,
        required: Object.keys(fields),
        additionalProperties: false,
      },
    }
  }

  /** Writes copies of a value, in JSON and in words. */
  result(fields: Fields): Result {
    const random = this.#random
    const copies = random.list(2, () => JSON.stringify(fields, null, random.int(0, 2)))
    const said = Object.values(fields).filter(
      (each) => typeof each === 'number' || typeof each === 'string',
    )
    const prose = random.chance(0.3) ? [`It is ${said.join(', then ')}.`] : []
    return { structuredContent: fields, content: words(...copies, ...prose) }
  }
}

/** From here on, a few seeds have a change of each kind. */
const FIRST_SEED = 24

const CONFIGS = [
  'number',
  'date',
  'boolean',
  'enum',
  'id',
  'text',
  'omit',
  'duplicate',
  'order',
  'unit',
  'stale',
].map((kind) => `{ ${kind}: {} }`)

it.each(['{}', '{ count: 4 }', ...CONFIGS])(
  'leaves results valid, with equal copies, and never with the true value: %s',
  async (config) => {
    const ajv = new Ajv2020({ strict: false, logger: false })
    let injected = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + rounds(10, 1000); seed++) {
      const results = new Results(seed)
      const { fields, schema } = results.fields(2)
      const other = JSON.parse(JSON.stringify(fields), (key, value: unknown) =>
        key === 'order_id' && typeof value === 'number'
          ? value + 5
          : key === 'city'
            ? 'Zug'
            : value,
      ) as Fields
      const before = results.result(fields)
      const { result, ctx, values } = await falsified(config, before, {
        schema,
        seed,
        earlier: [results.result(other)],
      })
      const after = result.structuredContent!
      if (ctx.effects === 0) {
        expect(result).toEqual(before)
        expect([['no_plausible_change'], []]).toContainEqual(ctx.reached)
        continue
      }
      injected++
      expect(after, config).not.toEqual(fields)
      expect(ajv.validate(schema, after), `${seed} ${ajv.errorsText()}`).toBe(true)
      const written = result.content.map(({ text }) => text)
      const copies = written
        .filter((text) => text.startsWith('{'))
        .map((text) => JSON.parse(text) as unknown)
      for (const copy of copies) expect(copy, String(seed)).toEqual(after)
      const prose = written.find((text) => text.startsWith('It')) ?? ''
      for (const { trueText, falseText } of values) {
        expect(falseText).not.toBe(trueText)
        expect(JSON.stringify(after)).toContain(falseText.replace(/\.?0+$/, ''))
        // Another field may have it now, as its own false value.
        if (Object.values(after).includes(trueText)) continue
        const said = new RegExp(`(?<![\\d.])${trueText.replaceAll('.', '\\.')}(?![\\d]|\\.\\d)`)
        expect(prose, `${seed} ${JSON.stringify(fields)}`).not.toMatch(said)
      }
    }
    if (!config.includes('stale')) expect(injected).toBeGreaterThan(rounds(0, 30))
  },
)

it.each([
  ['{ properties: 5 }', { properties: 5 }],
  ['a loop', { $ref: '#' }],
  ['an exponential one', exponential(30)],
  ['a pattern that backtracks', { properties: { n: { type: 'string', pattern: '(a+)+$' } } }],
  ['unknown keywords', { properties: { n: { not: { const: 1 } } } }],
])('decides nothing by a hostile schema: %s', async (_, schema) => {
  const began = cpuMs()
  const value = { n: `${'a'.repeat(20)} 4187.23` }
  const { ctx } = await falsified('{ number: {} }', { structuredContent: value }, { schema })
  expect(ctx.effects).toBe(0)
  expect(cpuMs() - began).toBeLessThan(2000)
})

function exponential(depth: number): object {
  const $defs: Record<string, object> = { [`d${depth}`]: { type: 'string' } }
  for (let i = 0; i < depth; i++) {
    const $ref = `#/$defs/d${i + 1}`
    $defs[`d${i}`] = { anyOf: [{ allOf: [{ $ref }, false] }, { allOf: [{ $ref }, false] }] }
  }
  return { $defs, properties: { n: { $ref: '#/$defs/d0' } } }
}

it('gives other calls a turn, and up, in a result of thousands of values that may be copies', async () => {
  const short = Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`n${i}`, i % 7]))
  const lists = { rows: Array.from({ length: 4000 }, () => [1, 2]) }
  for (const [kind, fields] of [
    ['number', short],
    ['omit', lists],
  ] as const) {
    const began = cpuMs()
    const { ctx } = await falsified(
      `{ ${kind}: {} }`,
      copied({ ...fields, other: 1 }, '0 1 2 3 4 5 6 0 1 2 3 4 5 6'),
    )
    expect(ctx.reached).toEqual(['no_plausible_change'])
    expect(cpuMs() - began).toBeLessThan(10_000)
  }
})

it('searches results of megabytes in bounded time', async () => {
  const digits = '7'.repeat(1_000_000)
  for (const text of [digits, `${digits}x9`, '1,234.5 '.repeat(120_000), '-'.repeat(1_000_000)]) {
    const began = cpuMs()
    await falsified('{ number: {} }', { structuredContent: { n: 4187.23 }, content: words(text) })
    expect(cpuMs() - began).toBeLessThan(3000)
  }
})

it.each([
  ['{ number: { by: 0 } }', '.number.by'],
  ['{ date: { by: 0 } }', '.date.by'],
  ['{ at: /a~b }', '.at'],
  ['{ count: 0 }', '.count'],
  ['{ onUse: log }', '.onUse'],
])('rejects %s', (text, path) => {
  expect(findings('falsify', text)[0]).toContain(path)
})
