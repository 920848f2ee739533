import { afterAll, beforeAll, expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { judge, send, type StagedWebhook, type Verdict } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { parseInjectorSettings } from '../../src/injector/parse-settings.ts'
import { checkQueue } from '../../src/webhook/check-queue.ts'
import { NO_POD_ENVIRONMENT } from '../../src/webhook/decide-pod.ts'
import { decideRules } from '../../src/webhook/decide-rules.ts'
import { parseReview } from '../../src/webhook/review.ts'

const CONFIG_MAPS = { resource: { group: '', version: 'v1', resource: 'configmaps' } }
const GOOD = failing('one', 'get_weather')
const BAD = 'rules:\n  - name: slow\n    faults: [{ dely: { fixed: 1s } }]\n'

let staged: StagedWebhook
beforeAll(async () => {
  staged = await startSquall({ webhook: {} })
})
afterAll(() => staged.close())

function configMap(
  data: Readonly<Record<string, string>>,
  label: string | undefined = 'true',
  more: object = {},
): object {
  const labels = label === '' ? {} : { 'squall.dev/rules': label }
  return { metadata: { name: 'squall-rules', labels, ...more }, data }
}

const ask = (object: unknown, request: object = {}): Promise<Verdict> =>
  judge(staged.port, object, { ...CONFIG_MAPS, ...request }, '/validate-rules?timeout=5s')

const message = (verdict: Verdict): string => verdict.status?.message ?? 'allowed'

test('invalid rules are denied with file, line and column, and valid ones accepted', async () => {
  const denied = await ask(configMap({ 'rules.yaml': BAD, 'readme.txt': 'not: [rules' }))
  expect(denied).toMatchObject({ allowed: false, status: { code: 403 } })
  expect(message(denied)).toMatch(/^rules\.yaml:3:\d+: .*dely.*delay/)
  expect(denied.auditAnnotations).toEqual({ rules: 'denied: invalid_rules' })
  expect(await ask(configMap({ 'rules.yaml': GOOD }))).toMatchObject({ allowed: true })
  const labels = { subject: 'rules', result: 'denied', reason: 'invalid_rules' }
  expect(await staged.metric('squall_webhook_validations_total', labels)).toBe(1)
})

test('all keys are checked together, unless the label says that each is for itself', async () => {
  const twice = { 'a.yaml': GOOD, 'b.yaml': GOOD }
  expect(message(await ask(configMap(twice)))).toMatch(/^b\.yaml:\d+:\d+: .*one/)
  expect(message(await ask(configMap(twice, 'separate-keys')))).toBe('allowed')
  const mixed = { ...twice, 'c.yaml': BAD }
  expect(message(await ask(configMap(mixed, 'separate-keys')))).toMatch(/^c\.yaml:3:/)
})

test('the message is bounded, and says how many more there are', async () => {
  const lines = Array.from({ length: 90 }, (_, i) => `  - { nme: "${'x'.repeat(200)}${i}" }`)
  const text = message(await ask(configMap({ 'rules.yaml': `rules:\n${lines.join('\n')}\n` })))
  expect(text.length).toBeLessThan(2_100)
  expect(text).toMatch(/\n… and \d+ more$/)
})

test('what is not to be held up passes: no label, no change of the rules, the end of it', async () => {
  const bad = { 'rules.yaml': BAD }
  const update = { operation: 'UPDATE', oldObject: configMap(bad) }
  expect(message(await ask(configMap(bad, '')))).toBe('allowed')
  expect(message(await ask(configMap(bad, 'false')))).toBe('allowed')
  expect(message(await ask(configMap(bad, 'true', { annotations: { a: 'b' } }), update))).toBe(
    'allowed',
  )
  expect(
    message(await ask(configMap(bad, 'true', { deletionTimestamp: '2026-01-01T00:00:00Z' }))),
  ).toBe('allowed')
  // The label is what is new.
  const unlabelled = { ...update, oldObject: configMap(bad, '') }
  expect(message(await ask(configMap(bad), unlabelled))).toContain('rules.yaml:3:')
  expect((await ask(null, { operation: 'DELETE' })).warnings?.[0]).toContain('not checked')
})

test('rules that can act are denied in production; those that cannot are accepted', async () => {
  const production = { namespace: 'shop-prod' }
  expect(message(await ask(configMap({ 'rules.yaml': GOOD }), production))).toMatch(
    /denied in production.*shop-prod.*allow-production/,
  )
  const off = { 'rules.yaml': `enabled: false\n${GOOD}` }
  expect(message(await ask(configMap(off), production))).toBe('allowed')
})

test('rules that squall stop could not end are denied, and rules that do nothing are not', async () => {
  const full = (text: string): string => `${text}${'#'.repeat(1024 * 1024 - 20_000)}\n`
  const keys = (text: string) => ({ 'rules.yaml': text, notes: 'x'.repeat(10_000) })
  const denied = await ask(configMap(keys(full(GOOD))))
  expect(message(denied)).toMatch(
    /^squall stop could not end these rules: the ConfigMap would have 10\d+ bytes of data; use at/,
  )
  expect(denied.auditAnnotations).toEqual({ rules: 'denied: unstoppable' })
  expect(message(await ask(configMap(keys(full(`enabled: false\n${GOOD}`)))))).toBe('allowed')
  const immutable = { ...configMap({ 'rules.yaml': GOOD }), immutable: true }
  expect(message(await ask(immutable))).toMatch(/ is immutable; remove immutable: true$/)
})

test('rules that were there stay stoppable: neither immutable nor other keys may prevent it', async () => {
  const change = async (object: object, oldObject: object): Promise<string> =>
    message(await ask(object, { operation: 'UPDATE', oldObject }))
  const immutable = (data: Readonly<Record<string, string>>, label = 'true'): object => ({
    ...configMap(data, label),
    immutable: true,
  })
  const good = { 'rules.yaml': GOOD }
  expect(await change(immutable(good), configMap(good))).toMatch(/; remove immutable: true$/)
  // What is immutable already cannot be changed back.
  expect(await change(immutable(good), immutable(good, ''))).toMatch(
    / is immutable; delete the ConfigMap and the pods that read it, and create it anew without immutable$/,
  )
  expect(await change(immutable(good), immutable(good))).toBe('allowed')
  const [off, bad] = [{ 'rules.yaml': `enabled: false\n${GOOD}` }, { 'rules.yaml': BAD }]
  expect(await change(immutable(off), configMap(off))).toBe('allowed')
  expect(await change(immutable(bad), configMap(bad))).toBe('allowed')

  const notes = (bytes: number): string => 'x'.repeat(bytes)
  const full = { ...good, notes: notes(1024 * 1024 - 10_000) }
  expect(await change(configMap(full), configMap(good))).toMatch(/ would have 10\d+ bytes of data/)
  expect(await change(configMap(full), configMap(full, ''))).toBe('allowed')
  const stopped = { ...full, 'squall-stop': '{"stops":[{}]}' }
  expect(await change(configMap(stopped), configMap(full))).toBe('allowed')
  expect(await change(configMap(full), configMap(stopped))).toBe('allowed')
  const smaller = { 'rules.yaml': GOOD.replace('get_weather', 'other'), notes: full.notes }
  expect(await change(configMap(smaller), configMap(full))).toBe('allowed')
})

test('the end of all rules waits for no other check', async () => {
  const inTurn = checkQueue(10_000)
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const waiting = Array.from({ length: 32 }, () => inTurn(() => gate))
  const settings = parseInjectorSettings({}, '1.2.3')
  const parts = { settings, podEnvironment: NO_POD_ENVIRONMENT, minor: () => 33, inTurn }
  const decide = (data: Readonly<Record<string, string>>) => {
    const oldObject = configMap({ 'rules.yaml': GOOD })
    const request = { ...CONFIG_MAPS, namespace: 'shop', operation: 'UPDATE', uid: '1', oldObject }
    const version = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
    const review = { ...version, request: { ...request, object: configMap(data) } }
    const parsed = parseReview(Buffer.from(JSON.stringify(review)))
    if (!parsed.ok) throw new Error(parsed.message)
    return decideRules(parsed.review, parts)
  }
  expect(await decide({})).toMatchObject({ allowed: true })
  expect(await decide({ notes: 'none' })).toMatchObject({ allowed: true })
  await expect(decide({ 'rules.yaml': `${GOOD}# new` })).rejects.toThrow('too many rule checks')
  open()
  await Promise.all(waiting)
})

test('hostile contents are answered', async () => {
  const bomb = 'a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nrules: [*c]\n'
  expect(message(await ask(configMap({ 'rules.yaml': bomb })))).toMatch(/^rules\.yaml:/)
  expect(message(await ask({ metadata: 7, data: 'x' }))).toBe('allowed')
  const odd = { metadata: { labels: { 'squall.dev/rules': 'true' } }, data: { 'a.yaml': 7 } }
  expect(message(await ask(odd))).toBe('allowed')
  const get = await send(staged.port, '', { path: '/validate-rules', method: 'GET' })
  expect(get.status).toBe(405)
})

test('an appliedAt that is ahead of the clock of the API server is denied', async () => {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '')
  const rules = { 'rules.yaml': `appliedAt: ${at(120_000)}\n${GOOD}` }
  const denied = await ask(configMap(rules))
  expect(message(denied)).toMatch(
    /^appliedAt 20\S+Z is ahead of the clock of the API server; remove/,
  )
  expect(denied.auditAnnotations).toEqual({ rules: 'denied: applied_ahead' })
  // The API server notes its time; the clock of this process may be slow.
  const managedFields = [{ manager: 'squall', time: at(90_000), fieldsV1: {} }]
  expect(message(await ask(configMap(rules, 'true', { managedFields })))).toBe('allowed')
  const off = { 'rules.yaml': `enabled: false\n${rules['rules.yaml']}` }
  expect(message(await ask(configMap(off)))).toBe('allowed')
})
