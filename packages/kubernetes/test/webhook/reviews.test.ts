import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ASK,
  judge,
  patched,
  podOf,
  reviewOf,
  send,
  type StagedWebhook,
} from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'

let staged: StagedWebhook
beforeAll(async () => {
  staged = await startSquall({ webhook: {} })
})
afterAll(() => staged.close())

test('a pod that asks is injected by a patch that fits it', async () => {
  const pod = podOf(ASK)
  const verdict = await judge(staged.port, pod)
  expect(verdict).toMatchObject({ allowed: true, patchType: 'JSONPatch' })
  expect(verdict.uid).toBe('705ab4f5-6393-11e8-b7cc-42010a800002')
  const after = patched(pod, verdict.patch!) as {
    spec: { initContainers: { name: string }[] }
    metadata: { annotations: Record<string, string> }
  }
  expect(after.spec.initContainers.map(({ name }) => name)).toContain('squall')
  expect(JSON.parse(after.metadata.annotations['squall.dev/status']!)).toMatchObject({
    mode: 'redirect',
  })
  expect(verdict.auditAnnotations).toEqual({ injection: 'injected: redirect' })
})

test('a pod that was injected already gets no second sidecar', async () => {
  const pod = podOf(ASK)
  const once = patched(pod, (await judge(staged.port, pod)).patch!)
  const again = await judge(staged.port, once)
  expect(again.allowed).toBe(true)
  expect(again.patch === undefined ? once : patched(once, again.patch)).toEqual(once)
})

test('a pod that does not ask is left as it is, without a word', async () => {
  const verdict = await judge(staged.port, podOf())
  expect(verdict).toMatchObject({ allowed: true })
  expect(verdict).not.toHaveProperty('patch')
  expect(verdict).not.toHaveProperty('warnings')
})

test('a pod that cannot be injected is denied, and the message says what to do', async () => {
  const pod = { ...podOf(ASK), spec: { hostNetwork: true, ...podOf().spec } }
  const verdict = await judge(staged.port, pod)
  expect(verdict.allowed).toBe(false)
  expect(verdict).not.toHaveProperty('patch')
  expect(verdict.status).toMatchObject({ code: 403 })
  expect(verdict.status!.message).toMatch(/hostNetwork.*: run it without hostNetwork/)
  const typo = await judge(staged.port, podOf({ ...ASK, 'squall.dev/prots': '3000' }))
  expect(typo.status!.message).toMatch(/prots.*ports/)
})

test('the namespace of the request counts where the pod names none', async () => {
  const verdict = await judge(staged.port, podOf(ASK), { namespace: 'kube-system' })
  expect(verdict.allowed).toBe(false)
  expect(verdict.status!.message).toContain('kube-system')
})

test('other kinds, operations and subresources pass with a warning', async () => {
  const requests = [
    { operation: 'UPDATE' },
    { operation: 'DELETE', object: null },
    { resource: { group: 'apps', version: 'v1', resource: 'deployments' } },
    { subResource: 'exec', operation: 'CONNECT' },
    { subResource: 'eviction' },
  ]
  for (const request of requests) {
    const verdict = await judge(staged.port, podOf(ASK), request)
    expect(verdict).toMatchObject({ allowed: true, warnings: [expect.stringContaining('CREATE')] })
    expect(verdict).not.toHaveProperty('patch')
  }
})

test('a dry run is answered as any other and changes nothing', async () => {
  const real = await judge(staged.port, podOf(ASK))
  const dry = await judge(staged.port, podOf(ASK), { dryRun: true })
  expect(dry).toEqual(real)
})

test('each decision is a line of the log and a count', async () => {
  const from = staged.lines.length
  await judge(staged.port, podOf(ASK))
  await judge(staged.port, podOf({ 'squall.dev/inject': 'false' }))
  await judge(staged.port, podOf({ ...ASK, 'squall.dev/mode': 'sideways' }))
  const lines = staged.lines.slice(from)
  expect(lines.map(({ result }) => result)).toEqual(['injected', 'untouched', 'denied'])
  expect(lines[0]).toMatchObject({
    namespace: 'shop',
    pod: 'shop-7d4b9c-',
    owner: 'ReplicaSet',
    mode: 'redirect',
    msg: 'pod injected',
  })
  expect(lines[2]).toMatchObject({ reason: 'invalid_value' })
  const count = (result: string, reason: string): Promise<number> =>
    staged.metric('squall_injections_total', { result, reason })
  expect(await count('injected', 'redirect')).toBeGreaterThan(0)
  expect(await count('untouched', 'opted_out')).toBe(1)
  expect(await count('denied', 'invalid_value')).toBe(1)
  expect(await staged.metric('squall_injection_duration_seconds')).toBeGreaterThan(2)
})

test('one connection carries many reviews', async () => {
  const { Agent, request } = await import('node:https')
  const { CA } = await import('../../../../test/support/cluster.ts')
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: CA.cert })
  const uids = await Promise.all(
    ['a', 'b', 'c'].map(
      (uid) =>
        new Promise<string>((resolve, reject) => {
          const asked = request(
            {
              agent,
              host: '127.0.0.1',
              port: staged.port,
              path: '/mutate',
              method: 'POST',
              headers: { 'content-type': 'application/json; charset=utf-8' },
            },
            (response) => {
              let text = ''
              response.setEncoding('utf8').on('data', (part: string) => (text += part))
              response.on('end', () =>
                resolve((JSON.parse(text) as { response: { uid: string } }).response.uid),
              )
            },
          )
          asked.on('error', reject)
          asked.end(JSON.stringify(reviewOf(podOf(ASK), { uid })))
        }),
    ),
  )
  expect(uids).toEqual(['a', 'b', 'c'])
  agent.destroy()
})

test('a body that is no review is rejected', async () => {
  const get = await send(staged.port, '', { method: 'GET' })
  expect([get.status, get.headers['allow']]).toEqual([405, 'POST'])
  expect((await send(staged.port, '{}', { path: '/' })).text).toContain('/mutate')
})
