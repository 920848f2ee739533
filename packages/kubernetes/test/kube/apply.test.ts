// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster, TOKEN } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()

async function start(): Promise<{ shop: Shop; write: (text: string) => Promise<string> }> {
  const shop = opened(await startCluster('shop'))
  const write = async (text: string): Promise<string> => {
    const file = join(shop.directory, 'rules.yaml')
    await writeFile(file, text)
    return file
  }
  return { shop, write }
}

test('rules reach every sidecar of the namespace, and act there', async () => {
  const { shop, write } = await start()
  const squalls = [
    await shop.addPod('shop-1'),
    await shop.addPod('shop-2'),
    await shop.addPod('shop-3'),
  ]
  const { code, out, err } = await shop.apply('-f', await write(failing('first')))
  expect({ code, out }).toEqual({ code: 0, out: 'rules loaded in 3 of 3 pods\n' })
  expect(err).toContain('configmap squall-rules in shop: created\n')
  expect(err).toMatch(/shop-2: applied, armed\n/)
  const { 'rules.yaml': text = '' } = shop.rules()
  expect(text).toMatch(/^appliedAt: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/)
  expect(text.replace(/^appliedAt: .*\n/, '')).toBe(failing('first'))
  for (const squall of squalls) expect(await shop.ask(squall)).toContain('first')
  const pod = shop.api.store.get('/api/v1/namespaces/shop/pods/shop-1') as {
    metadata: { annotations: Record<string, string> }
  }
  expect(pod.metadata.annotations['squall.dev/rules-touched']).toMatch(/^\d{4}-/)
  const again = await shop.apply('-f', join(shop.directory, 'rules.yaml'))
  expect(again.err).toContain('unchanged')
  expect(again.code).toBe(0)
})

test('the ConfigMap and an event say who applied rules, once for each change', async () => {
  const { shop, write } = await start()
  const events = (): readonly object[] =>
    [...shop.api.store].filter(([path]) => path.includes('/events/')).map(([, event]) => event)
  const file = await write(failing('first'))
  await shop.apply('-f', file)
  expect(shop.api.store.get('/api/v1/namespaces/shop/configmaps/squall-rules')).toMatchObject({
    metadata: { annotations: { 'squall.dev/applied-by': 'tester' } },
  })
  const message = 'squall apply changed the rules in rules.yaml by tester: first has no end'
  expect(events()).toMatchObject([{ reason: 'SquallApplied', message }])
  await shop.apply('-f', file)
  expect(events()).toHaveLength(1)
  shop.api.denied.add('create events')
  const { code, err } = await shop.apply('-f', await write(failing('second')))
  expect(code).toBe(0)
  expect(err).toContain('warning: the event was not recorded: ')
  expect(shop.rules()['rules.yaml']).toContain('second')
})

test('a file without rules reports no rules, and not that they are armed', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  const { code, out, err } = await shop.apply('-f', await write('rules: []\n'))
  expect({ code, out }).toEqual({ code: 0, out: 'no rules in 1 of 1 pods\n' })
  expect(err).toMatch(/shop-1: applied, no rules\n/)
})

test('invalid rules change nothing', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  const file = await write(
    'rules:\n  - name: a\n    percnt: 3\n    faults: [{ abort: { status: 503 } }]\n',
  )
  const { code, err } = await shop.apply('-f', file)
  expect(code).toBe(1)
  expect(err).toMatch(/rules\.yaml:3:5: .*did you mean `percent`/)
  expect(err).toContain('nothing was applied')
  expect(shop.api.seen).toHaveLength(0)
})

test('other keys stay, and rules that do not go together with theirs change nothing', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1', { isDeaf: true })
  shop.api.put('/api/v1/namespaces/shop/configmaps/squall-rules', {
    data: { 'base.yaml': failing('same') },
  })
  const { code, err } = await shop.apply('-f', await write(failing('same')))
  expect(code).toBe(1)
  expect(err).toMatch(/same/)
  expect(Object.keys(shop.rules())).toEqual(['base.yaml'])
  await shop.apply('-f', await write(failing('other')), '--no-wait')
  expect(Object.keys(shop.rules()).sort()).toEqual(['base.yaml', 'rules.yaml'])
})

test('a sidecar that refuses the rules is named with line and column', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  const squall = await shop.addPod('shop-2')
  shop.api.sidecars.set('shop/shop-2', await refusing(squall.admin))
  const { code, out } = await shop.apply('-f', await write(failing('first')))
  expect(code).toBe(1)
  expect(out).toContain('rules loaded in 1 of 2 pods')
  expect(out).toMatch(
    / {2}shop-2: rejected, the rules are invalid\n {4}rules\.yaml:3:5: rules\[0\]\.percnt: unknown key/,
  )
  expect(out).toContain('keep their previous rules')
})

test('a stop of some pods is reported as that', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  await shop.stop('-n', 'shop', '-l', 'app=other', '--timeout', '2s')
  const { err, out } = await shop.apply('-f', await write(failing('first')))
  expect(err).toContain('pods with app=other are stopped: no rule acts in them until')
  expect(out).toBe('rules loaded in 1 of 1 pods\n')
})

test('a pod that hears of nothing lets the wait end with the next step', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  await shop.addPod('shop-2', { isDeaf: true })
  const { code, out } = await shop.apply('-f', await write(failing('first')), '--timeout', '3s')
  expect(code).toBe(1)
  expect(out).toMatch(/rules loaded in 1 of 2 pods\n {2}shop-2: waiting, still has /)
  const place = `-n shop --kubeconfig ${shop.kubeconfig}`
  expect(out).toContain(`timed out after 3 s; check again with npx mcp-squall status ${place}, `)
  expect(out).toContain(`read the log with kubectl logs ${place} POD -c squall\n`)
})

test('only sidecars that read this are waited for', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  shop.addPaper('shop-2')
  shop.addPaper('shop-3', {
    annotations: { 'squall.dev/rules': 'other' },
    sidecar: { running: {} },
  })
  shop.addPaper('shop-4', {
    annotations: { 'squall.dev/rules-key': 'extra.yaml' },
    sidecar: { running: {} },
  })
  const { code, out } = await shop.apply('-f', await write(failing('first')), '-n', 'shop')
  expect(code).toBe(0)
  expect(out).toContain('rules loaded in 1 of 3 pods, 2 not waited for\n')
  expect(out).toMatch(/shop-2: skipped, its sidecar is not running yet/)
  expect(out).toMatch(/shop-4: skipped, reads a different key of the ConfigMap/)
  const none = await shop.apply('-f', join(shop.directory, 'rules.yaml'), '--configmap', 'unread')
  expect(none).toMatchObject({
    code: 0,
    out: expect.stringContaining('no pod in shop reads the configmap unread'),
  })
})

test('missing rights are reported with the role that gives them', async () => {
  const { shop, write } = await start()
  const file = await write(failing('first'))
  await shop.addPod('shop-1', { isDeaf: true })
  shop.api.denied.add('patch pods')
  const untouched = await shop.apply('-f', file, '--timeout', '1s')
  expect(untouched.err).toMatch(
    /warning: pods cannot be annotated, .*two minutes.*verbs: \["patch"\]/,
  )
  shop.api.denied.add('get pods/proxy').add('create pods/portforward')
  const blind = await shop.apply('-f', file)
  expect(blind).toMatchObject({ code: 1 })
  expect(blind.err).toContain('resources: ["pods/proxy"], verbs: ["get"]')
  shop.api.denied.add('patch configmaps')
  const readOnly = await shop.apply('-f', await write(failing('second')))
  expect(readOnly.err).toContain('resources: ["configmaps"], verbs: ["patch"]')
  expect(shop.rules()['rules.yaml']).toContain(failing('first'))
  expect(`${untouched.err}${blind.err}${readOnly.err}`).not.toContain(TOKEN)
})

test('JSON has the outcome of each pod', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  const { code, out, err } = await shop.apply('-f', await write(failing('first')), '--json')
  expect([code, err]).toEqual([0, ''])
  const report = JSON.parse(out) as { pods: { name: string; state: string; digest: string }[] }
  expect(report).toMatchObject({
    ok: true,
    namespace: 'shop',
    change: 'created',
    waited: true,
    pods: [{ name: 'shop-1', state: 'applied' }],
  })
  expect(report.pods[0]!.digest).toMatch(/^[0-9a-f]{64}$/)
})

test('status shows armed sidecars, different rules, and rules that sampled no call', async () => {
  const { shop, write } = await start()
  const first = await shop.addPod('shop-1')
  await shop.addPod('shop-2', { isDeaf: true })
  await shop.addPod('shop-3', { flags: ['--environment', 'production'] })
  shop.api.put('/api/v1/namespaces/shop/pods/shop-4', {
    metadata: { annotations: { 'squall.dev/inject': 'true' } },
    status: { phase: 'Running' },
  })
  await shop.apply(
    '-f',
    await write(`${failing('first')}${failing('never', 'nobody').replace('rules:\n', '')}`),
    '--timeout',
    '1s',
  )
  await shop.ask(first)
  const { code, out } = await shop.status('-n', 'shop')
  expect(code).toBe(1)
  const rows = out.split('\n').map((line) => line.split(/ {2,}/))
  expect(rows[0]).toEqual(['NAMESPACE', 'POD', 'MODE', 'STATE', 'RULES', 'DIGEST', 'SAMPLED'])
  expect(rows[1]).toEqual([
    'shop',
    'shop-1',
    'redirect',
    'armed',
    '2',
    expect.stringMatching(/^[0-9a-f]{8}$/),
    '1',
  ])
  expect(rows[2]![5]).toMatch(/ !$/)
  expect(rows[3]![3]).toBe('disarmed')
  expect(rows[4]!.slice(1, 4)).toEqual(['shop-4', '?', 'absent'])
  expect(out).toContain('shop/shop-1: sampled no call: never (on)')
  expect(out).toContain(
    'shop/shop-2: its rules still differ from the rules in the configmap squall-rules\n',
  )
  expect(out).toContain('shop/shop-3: disarmed by environment')
  expect(out).toContain('shop/shop-4: the requested sidecar is missing')
  const all = JSON.parse((await shop.status('-A', '--json')).out) as {
    pods: { pod: string; sampled: number; digestIs: string }[]
  }
  expect(all.pods.map(({ pod, sampled, digestIs }) => [pod, sampled, digestIs])).toEqual([
    ['shop-1', 1, 'current'],
    ['shop-2', 0, 'other'],
    ['shop-3', 0, 'current'],
    ['shop-4', 0, 'unknown'],
  ])
})

test('status of a sidecar that cannot be asked says why, and ends with 1', async () => {
  const { shop } = await start()
  shop.addPaper('shop-1', { sidecar: { running: {} } })
  const { code, out } = await shop.status()
  expect(code).toBe(1)
  expect(out).toMatch(/shop\/shop-1: cannot query the sidecar .*connection refused/)
  shop.api.put('/api/v1/namespaces/empty', {})
  const empty = await shop.status('-n', 'empty')
  expect(empty).toMatchObject({ code: 0, out: expect.stringContaining('squall.dev/inject') })
})

/** A sidecar of another version, to which the rules are wrong. */
async function refusing(admin: string): Promise<string> {
  const app = await startUpstream((_request, response) => {
    void worse(admin).then((state) => response.end(JSON.stringify(state)))
  })
  opened(app)
  return `http://127.0.0.1:${app.port}`
}

async function worse(admin: string): Promise<object> {
  const answer = await fetch(`${admin}/api/state`)
  const state = (await answer.json()) as { rules: object; lastReload: object }
  const problem = {
    file: 'rules.yaml',
    line: 3,
    column: 5,
    code: 'unknown_key',
    path: 'rules[0].percnt',
    message: 'unknown key "percnt"',
  }
  const lastReload = {
    ...state.lastReload,
    result: 'rejected',
    problemCount: 1,
    problems: [problem],
  }
  return { ...state, rules: { ...state.rules, digest: null }, lastReload }
}

test('rules for production are refused, by the name or the label of the namespace', async () => {
  const { shop, write } = await start()
  await shop.addPod('shop-1')
  const file = await write(failing('first'))
  const named = await shop.apply('-f', file, '-n', 'shop-prod')
  expect(named.code).toBe(2)
  expect(named.err).toContain('the namespace "shop-prod" counts as production (it matches prod*)')
  expect(named.err).toContain('--allow-production')
  expect(shop.api.seen).toHaveLength(0)

  shop.api.put('/api/v1/namespaces/shop', { metadata: { labels: { environment: 'Prod-EU' } } })
  const labelled = await shop.apply('-f', file)
  expect(labelled.err).toContain('the label environment of the namespace shop, "Prod-EU"')
  expect(shop.rules()).toEqual({})
  expect(shop.api.seen.every(({ method }) => method === 'GET')).toBe(true)

  // Rules that end faults are always accepted.
  const off = await write(`enabled: false\n${failing('first')}`)
  expect(await shop.apply('-f', off)).toMatchObject({ code: 0 })
  expect(await shop.apply('-f', await write(failing('x')), '--allow-production')).toMatchObject({
    code: 0,
  })
})

test('rules that squall stop could not end are not written', async () => {
  const { shop, write } = await start()
  const full = await write(`${failing('first')}${'#'.repeat(1024 * 1024 - 1_000)}\n`)
  const { code, err } = await shop.apply('-f', full)
  expect(code).not.toBe(0)
  expect(err).toContain('squall stop could not end these rules: the ConfigMap would have 10')
  expect(shop.rules()).toEqual({})
  const metadata = { name: 'squall-rules', namespace: 'shop' }
  const path = '/api/v1/namespaces/shop/configmaps/squall-rules'
  shop.api.put(path, { metadata, data: {}, immutable: true })
  const kept = await shop.apply('-f', await write(failing('first')))
  expect(kept.err).toContain('delete the ConfigMap and the pods that read it, and create it anew')
})
