// part: slow
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import {
  portOf,
  type Program,
  startProgram,
  startSquall,
} from '../../../../test/support/commands.ts'
import {
  ASK,
  judge,
  type MountedPair,
  mountPair,
  podOf,
  servingPair,
  startCluster,
} from '../../../../test/support/cluster.ts'

const opened = closers()
let mounted: MountedPair
beforeAll(async () => {
  mounted = await mountPair(servingPair())
})
afterAll(() => mounted.remove())

const ANYWHERE = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const program = startProgram(args, env)
  opened({ close: () => program.kill() })
  return program
}

test('the program takes reviews, and a signal drains it', async () => {
  const program = start([
    'webhook',
    '--tls-dir',
    mounted.directory,
    ...ANYWHERE,
    '--shutdown-delay',
    '100ms',
  ])
  const line = await program.logged('serving admission requests')
  expect(await judge(portOf(line), podOf(ASK))).toMatchObject({ allowed: true })
  expect((await fetch(`http://${String(line['admin'])}/readyz`)).status).toBe(200)
  program.signal('SIGTERM')
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.lines.at(-1)).toMatchObject({ msg: 'stopped' })
  expect(program.stderr()).toBe('')
})

// As the chart rolls them out and drains them: one at a time, the new one first.
test('two replicas that are replaced one after the other fail no review', async () => {
  const replica = async () => {
    const delay = ['--shutdown-delay', '2s']
    const program = start(['webhook', '--tls-dir', mounted.directory, ...ANYWHERE, ...delay])
    const line = await program.logged('serving admission requests')
    const isReady = async (): Promise<boolean> =>
      fetch(`http://${String(line['admin'])}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      )
    return { program, port: portOf(line), isReady }
  }
  const replicas = [await replica(), await replica()]
  const failed: unknown[] = []
  let reviews = 0
  const over = new AbortController()
  const reviewed = (async () => {
    while (!over.signal.aborted) {
      const states = await Promise.all(replicas.map(({ isReady }) => isReady()))
      const endpoints = replicas.filter((_, i) => states[i])
      // An API server hears of a change some reviews later.
      for (let i = 0; i < 10; i++) {
        const { port } = endpoints[i % endpoints.length]!
        await judge(port, podOf(ASK)).catch((error: unknown) => failed.push(error))
        reviews++
      }
    }
  })()
  for (let i = 0; i < 2; i++) {
    const [old] = [replicas[0]!, replicas.push(await replica())]
    old.program.signal('SIGTERM')
    expect(await old.program.ended).toEqual({ code: 0, signal: null })
    replicas.shift()
  }
  over.abort()
  await reviewed
  expect(failed).toEqual([])
  expect(reviews).toBeGreaterThan(50)
})

test('reviews are taken where the CA of the cluster cannot be read', async () => {
  const program = start(
    ['webhook', '--tls-dir', mounted.directory, '--cluster-ca', '/nowhere', ...ANYWHERE],
    { KUBERNETES_SERVICE_HOST: '127.0.0.1' },
  )
  const line = await program.logged('the version of the API server cannot be read')
  expect(line['detail']).toMatch(
    /CA of the cluster: \/nowhere cannot be read \(no such file or directory\)/,
  )
  expect(
    await judge(portOf(await program.logged('serving admission requests')), podOf(ASK)),
  ).toMatchObject({
    allowed: true,
  })
})

test('a signal ends a program that still waits for its first certificate', async () => {
  const shop = opened(await startCluster('shop'))
  shop.api.denied.add('get secrets')
  const own = [
    '--tls-secret',
    'tls',
    '--tls-host',
    'squall.chaos.svc',
    '--webhook-configuration',
    'squall',
  ]
  const program = start(['webhook', ...own, ...ANYWHERE], { KUBECONFIG: shop.kubeconfig })
  const line = await program.logged(
    'a new certificate cannot be used; no certificate is in use yet',
  )
  expect(line['detail']).toMatch(/resources: \["secrets"\], verbs: \["get"\]/)
  program.signal('SIGTERM')
  expect(await program.ended).toEqual({ code: 0, signal: null })
})

test('a webhook that is stopped before it asks for a certificate does not wait for one', async () => {
  const { api, client } = opened(await startCluster('api', 'chaos'))
  api.denied.add('get secrets')
  const certificate = {
    kind: 'managed',
    secret: 'tls',
    namespace: 'chaos',
    configuration: 'squall',
    hosts: ['squall.chaos.svc'],
    caMs: 3_600_000,
    servingMs: 600_000,
    rotateBeforeMs: 300_000,
    checkMs: 40,
    settleMs: 0,
  } as const
  const stop = AbortSignal.abort()
  const staged = startSquall({ webhook: { certificate }, client, stop })
  await expect(staged).rejects.toThrow('no certificate yet')
})

const MISUSES: readonly [readonly string[], RegExp][] = [
  [[], /no certificate; set --tls-dir or --tls-secret/],
  [
    ['--tls-dir', '/nowhere', ...ANYWHERE],
    /tls\.crt and tls\.key in \/nowhere cannot be read \(no such file or directory\)/,
  ],
  [
    ['--tls-dir', 'a', '--settings', '/nowhere'],
    /--settings: "\/nowhere" cannot be read \(no such file or directory\)/,
  ],
]

test('misuse ends with 2 and says what to do', async () => {
  const all = await Promise.all(
    MISUSES.map(([args]) => startProgram(['webhook', ...args]).finished()),
  )
  for (const [i, { code, stderr }] of all.entries()) {
    expect(stderr).toMatch(MISUSES[i]![1])
    expect(code).toBe(2)
  }
})

test('Ctrl-C ends a wait at once and says how things stand', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1', { isDeaf: true })
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('first'))
  const program = start(['apply', '-f', file], { KUBECONFIG: shop.kubeconfig })
  const asked = new Promise<void>((resolve) => {
    const before = shop.api.before
    shop.api.before = (seen) => {
      if (seen.path.includes('/proxy/')) resolve()
      return before(seen)
    }
  })
  await asked
  program.signal('SIGINT')
  expect(await program.ended).toEqual({ code: 1, signal: null })
  expect(program.stdout()).toContain('interrupted; the configmap stays changed')
})
