// part: pod
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PATIENCE } from './patience.ts'
import { buildImages } from './pod-images.ts'
import { APP, injectedByWebhook, template } from './pod-manifest.ts'
import { ADDRESSES } from './pod-network.ts'
import { POD_IP, type PodStage } from './pod-stage.ts'
import { startCluster } from '../support/cluster.ts'

const POLL = { timeout: PATIENCE, interval: 100 }
const [DATABASE] = ADDRESSES.outside
const TARGET = '10.77.0.0/24:5432'

let stage: PodStage

beforeAll(async () => {
  await buildImages()
  const { metadata, spec } = template()
  const annotations = { ...metadata?.annotations, 'squall.dev/outbound': `${TARGET}, cache:6379` }
  const pod = await injectedByWebhook({ metadata: { ...metadata, annotations }, spec: spec! })
  stage = await startCluster('pod', `squall-outbound-${process.pid}`, pod)
  const outside = await stage.outside()
  for (const port of [5432, 6379]) await outside.greet(port)
}, 330_000)

afterAll(() => stage?.close())

/** Connects from the container of the application, as it would itself. */
async function reach(host: string, port: number): Promise<string> {
  const script = `const socket = net.connect(${port}, '${host}')
    socket.on('error', ({ code }) => console.log(code)).pipe(process.stdout)`
  return (await stage.exec(APP, 'node', '-e', script)).output
}

test('the sidecar runs without rights, in the group whose connections are not captured', async () => {
  const caps = '{{.EffectiveCaps}} {{.Config.User}}'
  expect(await stage.inspect('squall', caps)).toBe('[] 65532:15390')
  const ran = await stage.exec('squall', 'squall', 'wait-ready')
  expect(ran, await stage.logs('squall')).toEqual({ code: 0, output: '' })
})

test('an application reaches its database through the sidecar, which counts it', async () => {
  expect(await reach(DATABASE, 5432)).toBe(`${DATABASE}:5432`)
  const counted = `squall_outbound_connections_total{destination="${TARGET}",outcome="ok",origin="real"} 1`
  const metrics = async () => (await stage.probe(`http://${POD_IP}:15390/metrics`)).text
  await expect.poll(metrics, POLL).toContain(counted)
  // An address of no target passes through.
  expect(await reach(DATABASE, 6379)).toBe(`${DATABASE}:6379`)
  await expect.poll(metrics, POLL).toContain('connections_total{destination="other",outcome="ok"')
})

test('the database is gone for the application while a rule says so', async () => {
  const match = `{ outbound: { cidr: ${DATABASE}/32, port: 5432 } }`
  await stage.rules.swap(
    `rules:\n  - name: gone\n    match: ${match}\n    faults: [connection: { reset: true }]\n`,
  )
  await expect.poll(() => reach(DATABASE, 5432), POLL).toBe('ECONNRESET')
  expect(await reach(DATABASE, 6379)).toBe(`${DATABASE}:6379`)
  await stage.rules.swap('rules: []\n')
  await expect.poll(() => reach(DATABASE, 5432), POLL).toBe(`${DATABASE}:5432`)
})
