// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { asked } from '../../../../test/support/commands/command-line.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import type { Squall } from '../../../../test/support/commands.ts'

/*
 * Pods that read one ConfigMap read the same rules. `squall apply -l app=a` used to wait for the pods
 * of one workload and to arm those of all others as well.
 */

const opened = closers()

interface World {
  readonly shop: Shop
  readonly a: Squall
  readonly b: Squall
  readonly write: (text: string) => Promise<string>
}

async function start(): Promise<World> {
  const shop = opened(await startCluster('shop'))
  const pod = async (app: string): Promise<Squall> => {
    const file = join(shop.directory, `labels-${app}`)
    await writeFile(file, `app="${app}"\n`)
    return shop.addPod(`${app}-1`, { labels: { app }, flags: ['--pod-labels-file', file] })
  }
  const write = async (text: string): Promise<string> => {
    const file = join(shop.directory, 'rules.yaml')
    await writeFile(file, text)
    return file
  }
  return { shop, a: await pod('a'), b: await pod('b'), write }
}

test('rules for pods with a label arm no other pod that reads the ConfigMap', async () => {
  const { shop, a, b, write } = await start()
  const { code, out, err } = await shop.apply('-f', await write(failing('first')), '-l', 'app=a')
  expect({ code, out }).toEqual({
    code: 0,
    out: 'rules loaded in 1 of 2 pods, 1 not waited for\n  b-1: skipped, no rule matches this pod\n',
  })
  expect(err).toContain('rules act in 1 of 2 pods that read the configmap\n  acts in a-1\n')
  expect(err).toContain('  not in b-1: podLabels.app expected "a", got b\n')
  expect(shop.rules()['rules.yaml']).toContain('match: { podLabels: { app: a }, tool: probe }')
  expect(await shop.ask(a)).toContain('first')
  for (let i = 0; i < 20; i++) expect(await shop.ask(b)).toContain('fine')
  const again = await shop.apply('-f', join(shop.directory, 'rules.yaml'), '-l', 'app=a')
  expect(again.err).toContain('unchanged')
})

test('pods that lose their rules to others are waited for, too, and the rules are named', async () => {
  const { shop, a, b, write } = await start()
  await shop.apply('-f', await write(failing('first')), '-l', 'app=a')
  const { code, err, out } = await shop.apply('-f', await write(failing('second')), '-l', 'app=b')
  expect({ code, out }).toEqual({ code: 0, out: 'rules loaded in 2 of 2 pods\n' })
  expect(err).toContain('replaces the rules first, by tester; to keep them use another --key\n')
  expect(await shop.ask(a)).toContain('fine')
  expect(await shop.ask(b)).toContain('second')
})

test('a dry run shows the text and the pods, and writes nothing', async () => {
  const { shop, a, write } = await start()
  const file = await write(failing('first'))
  const { code, out, err } = await shop.apply('-f', file, '-l', 'app=a', '--dry-run')
  expect(code).toBe(0)
  expect(out).toContain('podLabels: { app: a }')
  expect(err).toContain('  acts in a-1\n  not in b-1: ')
  const json = await shop.apply('-f', file, '-l', 'app=a', '--dry-run', '--json')
  expect(JSON.parse(json.out)).toMatchObject({
    ok: true,
    change: null,
    dryRun: true,
    text: expect.stringContaining('appliedAt: '),
    pods: [
      { name: 'a-1', target: true, state: 'waiting' },
      { name: 'b-1', target: false, state: 'skipped' },
    ],
  })
  expect(shop.rules()).toEqual({})
  expect(await shop.ask(a)).toContain('fine')
})

test.each(['app!=a', 'app in (a,b)', 'app', '!app', 'app=a,app=b'])(
  'the selector %s is refused with what to write instead, and nothing is asked of the cluster',
  async (selector) => {
    const { shop, write } = await start()
    const file = await write(failing('first'))
    const { code, out, err } = await shop.apply('-f', file, '-l', selector)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('write match: { podLabels: { app: shop } }')
    expect(shop.api.seen).toHaveLength(0)
  },
)

test('rules that last a given time end for good, and start anew when they are applied so again', async () => {
  const { shop, a, write } = await start()
  const file = await write(failing('first'))
  await shop.apply('-f', file, '--for', '1s')
  const { 'rules.yaml': text = '' } = shop.rules()
  const [from = '', to = ''] = text.match(/\d{4}-[-\dT:]+Z/g) ?? []
  expect(Date.parse(to) - Date.parse(from)).toBe(1000)
  await expect.poll(async () => await shop.ask(a), { timeout: 10_000 }).toContain('fine')
  await shop.apply('-f', file, '--for', '10m')
  expect(await shop.ask(a)).toContain('first')
})

test('the time of rules that somebody else wrote is that of the ConfigMap', async () => {
  const { shop, write } = await start()
  const text = failing('first')
  shop.api.put('/api/v1/namespaces/shop/configmaps/squall-rules', {
    metadata: { creationTimestamp: '2026-03-01T09:00:00Z' },
    data: { 'rules.yaml': text },
  })
  await shop.apply('-f', await write(text))
  expect(shop.rules()['rules.yaml']).toContain('appliedAt: 2026-03-01T09:00:00Z\n')
})

test('--for and --dry-run are read', () => {
  expect(asked(['apply', '-f', 'r', '--for', '30m', '--dry-run'])).toMatchObject({
    lastsMs: 1_800_000,
    dryRun: true,
  })
})
