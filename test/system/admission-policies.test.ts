// part: api-server
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { armedText } from '../../packages/experiments/src/experiment/armed-rules.ts'
import { inlineRules } from '../../packages/experiments/src/experiment/plan.ts'
import { stopsText } from '../../src/rules/guard/stop-key.ts'
import { failing } from '../live/rules-directory.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { type ApiServer, apiServerMissing, type CommandRun } from './api-server-process.ts'
import { PATIENCE } from './patience.ts'

// The API server checks the expressions of ready policies as it does in a cluster without Squall.
const missing = apiServerMissing()
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/guides/admission-policies.md`, 'utf8')
/** The file that the page applies first. */
const [, FILE = ''] = /^kubectl apply -f (\S+)/m.exec(PAGE) ?? []
const LABEL = { 'squall.dev/rules': 'true' }
const ENDLESS = failing('one')
const inMinutes = (minutes: number): string =>
  new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+/, '')
const ending = (minutes: number): string => `until: ${inMinutes(minutes)}\n${ENDLESS}`
const NO_END = /rules that inject faults must expire: set until: .*squall\s+apply --for 30m/
const NO_LABEL = /requires the label squall\.dev\/rules/

let server: ApiServer
let names = 0

type Data = Readonly<Record<string, string>>

interface Written {
  readonly labels?: object
  readonly verb?: 'create' | 'replace'
  readonly kubeconfig?: string
  readonly more?: object
}

async function kubectl(args: readonly string[], input?: object): Promise<string> {
  const { ok, text } = await server.run('kubectl', args, input && JSON.stringify(input))
  if (!ok) throw new Error(text)
  return text
}

function write(name: string, data: Data, options: Written = {}): Promise<CommandRun> {
  const { labels = LABEL, verb = 'create', kubeconfig = server.kubeconfig, more } = options
  const metadata = { name, namespace: 'shop', labels }
  const args = ['--kubeconfig', kubeconfig, verb, '-f', '-']
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data, ...more }
  return server.run('kubectl', args, JSON.stringify(map))
}

/** Writes a ConfigMap one text after another; returns what the last write says. */
async function written(...all: readonly (readonly [Data, Written?])[]): Promise<string> {
  const name = `rules-${++names}`
  for (const [index, [data, options]] of all.entries()) {
    const verb = index === 0 ? 'create' : 'replace'
    const { ok, text } = await write(name, data, { ...options, verb })
    if (index === all.length - 1) return ok ? 'allowed' : text
    if (!ok) throw new Error(text)
  }
  throw new Error('nothing is written')
}

/** Sets the budget of the cluster, and waits until the API server uses it. */
async function budget(data: Data, frozen: boolean): Promise<void> {
  const own = { name: 'squall-budget', namespace: 'squall-system' }
  await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'ConfigMap', metadata: own, data })
  await eventually(async () => {
    const metadata = { name: 'probe', namespace: 'shop', labels: LABEL }
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'a.yaml': ending(10) } }
    const args = ['create', '--dry-run=server', '-f', '-']
    const { ok, text } = await server.run('kubectl', args, JSON.stringify(map))
    return ok === !frozen ? undefined : text
  }, PATIENCE)
}

describe.skipIf(missing !== undefined)('policies of the API server', () => {
  beforeAll(async () => {
    server = await startCluster('control-plane')
    for (const name of ['shop', 'squall-system']) await kubectl(['create', 'namespace', name])
    // Rules that were there before the policies, too large for their expressions.
    const large = { 'a.yaml': ENDLESS, 'b.yaml': '# padding\n'.repeat(90_000) }
    await write('squall-rules', large, { labels: {} })
    await kubectl(['apply', '-f', `${ROOT}${FILE}`])
    await eventually(async () => {
      const args = ['create', 'configmap', 'squall-rules', '-n', 'default', '--dry-run=server']
      const { text } = await server.run('kubectl', [...args, `--from-literal=a.yaml=${ENDLESS}`])
      return NO_LABEL.test(text) ? undefined : text
    }, PATIENCE)
  }, 300_000)

  afterAll(() => server?.close())

  it('have expressions that the API server has no warnings about', async () => {
    const { items } = JSON.parse(
      await kubectl(['get', 'validatingadmissionpolicy', '-o', 'json']),
    ) as { items: readonly { metadata: { name: string }; status?: { typeChecking?: object } }[] }
    expect(items.map(({ metadata }) => metadata.name)).toEqual([
      'squall-freeze',
      'squall-rules',
      'squall-stop',
    ])
    for (const { status } of items) expect(status?.typeChecking ?? {}).toEqual({})
  })

  it('deny rules without an end, and name the key and the flag', async () => {
    expect(await written([{ 'a.yaml': ENDLESS }])).toMatch(NO_END)
    expect(await written([{ 'a.yaml': ending(30) }])).toBe('allowed')
    const [rule, other] = [ENDLESS, failing('two').replace(/^.*\n/, '')]
    const own = (text: string): string => text.replace(/name:/, `until: ${inMinutes(9)}\n    name:`)
    expect(await written([{ 'a.yaml': `${own(rule)}${other}` }])).toMatch(NO_END)
    expect(await written([{ 'a.yaml': `${own(rule)}${own(other)}` }])).toBe('allowed')
    expect(await written([{ 'a.yaml': `# until: ${inMinutes(9)}\n${ENDLESS}` }])).toMatch(NO_END)
    expect(await written([{ 'a.yaml': ending(600) }])).toMatch(/must expire within 4h/)
    // Nothing that injects needs an end.
    for (const text of ['rules: []\n', `enabled: false\n${ENDLESS}`]) {
      expect(await written([{ 'a.yaml': text, 'notes.txt': ENDLESS }])).toBe('allowed')
    }
    const binaryData = { 'a.yaml': Buffer.from(ending(9)).toString('base64') }
    expect(await written([{}, { more: { binaryData } }])).toMatch(/binaryData cannot be validated/)
  })

  it('allow what an experiment writes and restores', async () => {
    const source = inlineRules([
      { name: 'slow', match: { tool: 'search' }, faults: [{ delay: { fixed: '1s' } }] },
      { name: 'none', match: { tool: 'book' }, faults: ['drop'] },
    ])
    const plan = { rules: source, seed: 1, by: 'calls' } as const
    const stage = { label: '10%', share: 10 }
    const { text } = armedText(plan, 'abc', stage, Date.now() + 120_000, Date.now())
    const backup = { 'squall-experiment-backup': JSON.stringify({ text: ENDLESS, existed: true }) }
    // The rules are older than the label.
    const before = [[{ 'a.yaml': ENDLESS }, { labels: {} }], [{ 'a.yaml': ENDLESS }]] as const
    const running = [{ 'a.yaml': text, ...backup }] as const
    expect(await written(...before, running)).toBe('allowed')
    expect(await written(...before, running, [{ 'a.yaml': ENDLESS }])).toBe('allowed')
    expect(await written(...before, running, [{ 'a.yaml': ENDLESS, ...backup }])).toMatch(NO_END)
    const created = { 'squall-experiment-backup': '{"text":null,"existed":false}' }
    expect(await written([{ 'a.yaml': text, ...created }], [{}])).toBe('allowed')
  })

  it('take no rules for restored ones that the ConfigMap did not have', async () => {
    const odd = `# "a"\\\t\r\n${ENDLESS}`
    const backupOf = (text: string): Data => ({
      'squall-experiment-backup': JSON.stringify({ text, existed: true }),
    })
    const forged = /squall-experiment-backup has rules that this ConfigMap did not have/
    expect(await written([{ 'a.yaml': ending(9), ...backupOf(ENDLESS) }])).toMatch(forged)
    const noted = { 'a.yaml': ending(9), notes: ENDLESS }
    expect(await written([noted], [{ ...noted, ...backupOf(ENDLESS) }])).toMatch(forged)
    const before = [[{ 'a.yaml': odd }, { labels: {} }], [{ 'a.yaml': odd }]] as const
    const running = [{ 'a.yaml': ending(9), ...backupOf(odd) }] as const
    expect(await written(...before, running, [{ 'a.yaml': ENDLESS }])).toMatch(NO_END)
    expect(await written(...before, running, [{ 'a.yaml': odd }])).toBe('allowed')
  })

  it('keep the label of ConfigMaps with rules', async () => {
    const rules = { 'a.yaml': ending(10) }
    const none = { labels: {} }
    expect(await written([rules], [rules, none])).toMatch(NO_LABEL)
    expect(await written([rules], [rules, { labels: { 'squall.dev/rules': 'false' } }])).toMatch(
      NO_LABEL,
    )
    expect(await written([rules], [{ 'notes.txt': 'a' }, none])).toBe('allowed')
    // The name alone is enough; a ConfigMap of other programs is not touched.
    const { text } = await write('squall-rules', rules, { ...none, verb: 'replace' })
    expect(text).toMatch(NO_LABEL)
    expect(await written([rules, none])).toBe('allowed')
  })

  it('never deny a stop, whatever the rules are', async () => {
    const patch = ['patch', 'configmap', 'squall-rules', '-n', 'shop', '--type=merge', '-p']
    for (const text of [stopsText([{ selector: 'app=a', by: 'ann' }]), stopsText([{}]), '']) {
      await kubectl([...patch, JSON.stringify({ data: { 'squall-stop': text } })])
    }
    expect(await written([{ 'squall-stop': '' }, { labels: {} }])).toBe('allowed')
  })

  it('a freeze denies new rules and the end of a stop, until its time', async () => {
    const rules = { 'a.yaml': ending(10) }
    const stopped = { ...rules, 'squall-stop': stopsText([{ by: 'ann' }]) }
    expect((await write('frozen', rules)).ok).toBe(true)
    expect((await write('stopped', stopped)).ok).toBe(true)
    const until = inMinutes(60)
    await budget({ freeze: until, by: 'sre@example.com', reason: 'Christmas' }, true)
    const denial = `the ConfigMap squall-budget in squall-system denies new chaos in shop: freeze is ${until}; reason Christmas; by sre@example.com`
    const other = { 'a.yaml': ending(11) }
    expect((await write('frozen', other, { verb: 'replace' })).text).toContain(denial)
    expect((await write('stopped', rules, { verb: 'replace' })).text).toContain(denial)
    for (const data of [stopped, { ...stopped, 'a.yaml': 'rules: []\n' }]) {
      expect(await write('frozen', data, { verb: 'replace' })).toMatchObject({ ok: true })
    }
    await budget({ freeze: inMinutes(-1) }, false)
    await budget({ 'freeze.cart': 'true' }, false)
    await budget({ 'freeze.shop': 'true', 'by.shop': 'owner' }, true)
    expect(await written([rules])).toContain('freeze.shop is true; by owner')
    // A value that nobody understands allows nothing.
    await budget({ freeze: 'tomorrow' }, true)
    await budget({}, false)
  })

  it('only who has the verb resume on stops ends a stop', async () => {
    const role = (name: string, rules: object) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name, namespace: 'shop' },
      rules,
    })
    const writer = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }
    const resume = { apiGroups: ['squall.dev'], resources: ['stops'], verbs: ['resume'] }
    const kubeconfigs = new Map<string, string>()
    for (const [name, rules] of [
      ['writer', [writer]],
      ['owner', [writer, resume]],
    ] as const) {
      await kubectl(['create', 'serviceaccount', name, '-n', 'shop'])
      await kubectl(['create', '-f', '-'], role(name, rules))
      const subject = `--serviceaccount=shop:${name}`
      await kubectl(['create', 'rolebinding', name, '-n', 'shop', `--role=${name}`, subject])
      const token = await kubectl(['create', 'token', name, '-n', 'shop'])
      kubeconfigs.set(name, server.kubeconfigFor(token.trim()))
    }
    const a = { selector: 'app=a', by: 'ann "of" {b}', at: inMinutes(0) }
    const b = { selector: 'app in (b,c)' }
    const as = async (name: string, stop: string | undefined, ...before: readonly string[]) => {
      const kubeconfig = kubeconfigs.get(name)!
      const data = (text?: string) => ({
        'a.yaml': ENDLESS,
        ...(text !== undefined && { 'squall-stop': text }),
      })
      const rules = [{ 'a.yaml': ending(9) }] as const
      const all = before.map((text) => [{ ...rules[0], 'squall-stop': text }] as const)
      const last = { ...data(stop), ...rules[0] }
      return written(rules, ...all, [last, { kubeconfig }])
    }
    const ends: readonly (readonly [string | undefined, ...string[]])[] = [
      [undefined, ''],
      [undefined, stopsText([a])],
      [stopsText([]), stopsText([{}])],
      [stopsText([a]), stopsText([a, b])],
      [stopsText([a]), stopsText([{ by: 'ann' }])],
      [stopsText([a]), 'no stops at all'],
      // Looks like a stop of all pods inside of a string.
      ['{"stops":[{"selector":"app=a","by":"},{},{"}]}', ''],
      ['{"stops":[{"selector":"app=z","by":"\\"selector\\":\\"app=a\\""}]}', stopsText([a])],
    ]
    for (const [stop, ...before] of ends) {
      expect(await as('writer', stop, ...before)).toContain(
        'ending a stop requires the verb resume on stops.squall.dev',
      )
      expect(await as('owner', stop, ...before)).toBe('allowed')
    }
    const stops: readonly (readonly [string, ...string[]])[] = [
      [stopsText([a])],
      [''],
      [stopsText([a, b]), stopsText([a])],
      [stopsText([b, { by: 'ann' }]), stopsText([a])],
      ['', stopsText([a])],
      [stopsText([a]), stopsText([])],
    ]
    for (const [stop, ...before] of stops) {
      expect(await as('writer', stop, ...before)).toBe('allowed')
    }
  })
})
