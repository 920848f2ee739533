import { afterAll, beforeAll, expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { judge, type StagedWebhook, type Verdict } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const CONFIG_MAPS = { resource: { group: '', version: 'v1', resource: 'configmaps' } }
const ONE = failing('one', 'get_weather')
const TWO = failing('two', 'get_time')
const BAD = 'rules:\n  - name: slow\n    faults: [{ dely: { fixed: 1s } }]\n'
const THEN = '2026-01-01T00:00:00Z'
const AT_THEN = `appliedAt: ${THEN}\n`
const ANCHOR = /^appliedAt: (\S+)\n/

let staged: StagedWebhook
beforeAll(async () => {
  staged = await startSquall({ webhook: {} })
})
afterAll(() => staged.close())

type Texts = Readonly<Record<string, string>>

function configMap(data: Texts, label = 'true', more: object = {}): object {
  const { metadata = {}, ...rest } = more as { metadata?: object }
  const labels = label === '' ? {} : { 'squall.dev/rules': label }
  return { metadata: { name: 'squall-rules', labels, ...metadata }, data, ...rest }
}

const ask = (object: object, request: object = {}): Promise<Verdict> =>
  judge(staged.port, object, { ...CONFIG_MAPS, ...request }, '/mutate-rules?timeout=5s')

const update = (oldObject: object): object => ({ operation: 'UPDATE', oldObject })

/** The keys that are written, with their new contents. */
async function anchored(object: object, request: object = {}): Promise<Texts> {
  const verdict = await ask(object, request)
  expect(verdict.allowed).toBe(true)
  return patchOf(verdict)
}

function patchOf({ patch }: Verdict): Texts {
  if (patch === undefined) return {}
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString()) as readonly {
    op: string
    path: string
    value: string
  }[]
  return Object.fromEntries(
    operations.map(({ op, path, value }) => {
      expect(op).toBe('replace')
      expect(path).toMatch(/^\/data\/[^/]+$/)
      return [path.slice('/data/'.length), value]
    }),
  )
}

/** The time that was written at the head of a text, in milliseconds. */
const timeOf = (text: string | undefined): number => Date.parse(ANCHOR.exec(text ?? '')?.[1] ?? '')

test('new rules get the time of now, once, and nothing else is changed', async () => {
  const from = Date.now() - 1_000
  const { 'rules.yaml': text = '' } = await anchored(configMap({ 'rules.yaml': ONE }))
  expect(timeOf(text)).toBeGreaterThanOrEqual(from)
  expect(timeOf(text)).toBeLessThanOrEqual(Date.now())
  expect(text.replace(ANCHOR, '')).toBe(ONE)
  expect(await anchored(configMap({ 'rules.yaml': text }))).toEqual({})
  const labels = { subject: 'anchor', result: 'accepted', reason: 'anchored' }
  expect(await staged.metric('squall_webhook_validations_total', labels)).toBe(1)
})

test('unchanged rules keep their time when the text without it is applied again', async () => {
  const before = configMap({ 'rules.yaml': `${AT_THEN}${ONE}` })
  expect(await anchored(configMap({ 'rules.yaml': ONE }), update(before))).toEqual({
    'rules.yaml': `${AT_THEN}${ONE}`,
  })
  // Before there was a webhook: when the API server saw the key change.
  const managedFields = [{ time: THEN, fieldsV1: { 'f:data': { 'f:rules.yaml': {} } } }]
  const unanchored = configMap({ 'rules.yaml': ONE }, '', { metadata: { managedFields } })
  expect(await anchored(configMap({ 'rules.yaml': ONE }), update(unanchored))).toEqual({
    'rules.yaml': `${AT_THEN}${ONE}`,
  })
})

test('a stop adds no time to rules that have none', async () => {
  const before = configMap({ 'rules.yaml': ONE })
  const stopped = configMap({ 'rules.yaml': ONE, 'squall-stop': '' })
  expect(await anchored(stopped, update(before))).toEqual({})
})

test('of two rules only the one that changed begins anew', async () => {
  const from = Date.now() - 1_000
  const both = (tool: string): string => `${ONE}${failing('two', tool).replace(/^.*\n/, '')}`
  const before = configMap({ 'rules.yaml': `${AT_THEN}${both('get_time')}` })
  const after = configMap({ 'rules.yaml': both('get_date') })
  const { 'rules.yaml': text = '' } = await anchored(after, update(before))
  expect(timeOf(text)).toBeGreaterThanOrEqual(from)
  expect(text.match(/appliedAt/g)).toHaveLength(2)
  expect(text.indexOf(THEN)).toBeLessThan(text.indexOf('two'))
  expect(text.indexOf(THEN)).toBeGreaterThan(text.indexOf('one'))
})

test('each rules key is anchored by itself, and no other key', async () => {
  const data = {
    'a.yaml': ONE,
    'b.yaml': TWO,
    'c.yaml': `${AT_THEN}${failing('three', 'get_map')}`,
    'none.yaml': 'rules: []\n',
    'readme.txt': ONE,
    'squall-stop': 'since: 2026-01-01T00:00:00Z\n',
  }
  const before = configMap({ 'a.yaml': `${AT_THEN}${ONE}` })
  const texts = await anchored(configMap(data), update(before))
  expect(Object.keys(texts)).toEqual(['a.yaml', 'b.yaml'])
  expect(texts['a.yaml']).toBe(`${AT_THEN}${ONE}`)
  expect(timeOf(texts['b.yaml'])).toBeGreaterThan(Date.parse(THEN))
  const same = { 'a.yaml': ONE, 'b.yaml': ONE }
  expect(await anchored(configMap(same))).toEqual({})
  expect(Object.keys(await anchored(configMap(same, 'separate-keys')))).toEqual(Object.keys(same))
  expect(await anchored(configMap({ 'squall-stop': ONE }))).toEqual({})
})

test('what is invalid, not labelled, being deleted or immutable stays as it is', async () => {
  const good = { 'rules.yaml': ONE }
  expect(await anchored(configMap({ ...good, 'bad.yaml': BAD }))).toEqual({})
  expect(await anchored(configMap(good, ''))).toEqual({})
  expect(await anchored(configMap(good, 'false'))).toEqual({})
  const leaving = { metadata: { deletionTimestamp: THEN } }
  expect(await anchored(configMap(good, 'true', leaving))).toEqual({})
  const immutable = configMap(good, 'true', { immutable: true })
  expect(await anchored(immutable, update(immutable))).toEqual({})
  expect(Object.keys(await anchored(immutable))).toEqual(['rules.yaml'])
})

test('hostile contents are answered, and rules that no key can be added to are named', async () => {
  const bomb = 'a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nrules: [*c]\n'
  expect(await anchored(configMap({ 'rules.yaml': bomb }))).toEqual({})
  expect(await anchored({ metadata: 7, data: 'x' })).toEqual({})
  const labelled = { metadata: { labels: { 'squall.dev/rules': 'true' } } }
  expect(await anchored({ ...labelled, data: { 'a.yaml': 7 } }, update({ data: 9 }))).toEqual({})
  expect(await anchored({ ...labelled, data: [ONE] })).toEqual({})
})
