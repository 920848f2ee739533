import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Cluster, type Seen, startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'

const opened = closers()
const POD = '/api/v1/namespaces/shop/pods/plain-1'
const LABEL = { 'squall.dev/sidecar': 'attached' }

/** Attaches to a pod with labels; returns the error, and the labels of the pod after it. */
async function attach(
  labels: object,
  disturb: (cluster: Cluster) => void,
): Promise<readonly [string, unknown]> {
  const cluster = opened(await startCluster('api'))
  const { api, directory, kubeconfig } = cluster
  const ports = [{ containerPort: 3000 }]
  api.put(POD, {
    metadata: { labels },
    spec: { containers: [{ name: 'app', ports }] },
    status: { phase: 'Running' },
  })
  disturb(cluster)
  const rules = join(directory, 'rules.yaml')
  await writeFile(rules, failing('one'))
  const args = ['attach', 'plain-1', '-n', 'shop', '-f', rules, '--kubeconfig', kubeconfig]
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(1)
  const { metadata } = api.store.get(POD) as { metadata: { labels: object } }
  return [stderr, metadata.labels]
}

const addsContainer = ({ path }: Seen): boolean => path === `${POD}/ephemeralcontainers`

test.each([{ app: 'plain' }, { app: 'plain', ...LABEL }])(
  'a pod with the labels %j keeps them when its container is rejected',
  async (labels) => {
    const [error, after] = await attach(labels, ({ api }) => {
      api.denied.add('patch pods/ephemeralcontainers')
    })
    expect(error).toMatch(/cannot attach to pod "plain-1".*is forbidden/)
    expect(after).toEqual(labels)
  },
)

test('a pod to which somebody else attaches at the same time keeps the label', async () => {
  const [error, after] = await attach({}, ({ api }) => {
    api.before = (seen) => {
      if (!addsContainer(seen)) return undefined
      const pod = api.store.get(POD)!
      const ephemeralContainers = [{ name: 'squall-attach-1', image: 'theirs' }]
      api.put(POD, { ...pod, spec: { ...(pod['spec'] as object), ephemeralContainers } })
      return 422
    }
  })
  expect(error).toContain('cannot attach to pod "plain-1"')
  expect(after).toEqual(LABEL)
})

test('a pod whose container may have been added keeps the label, by which squall stop finds it', async () => {
  const [error, after] = await attach({}, ({ api }) => {
    api.before = (seen) => {
      if (addsContainer(seen)) seen.cut()
      return undefined
    }
  })
  expect(error).toContain('cannot attach to pod "plain-1"')
  expect(after).toEqual(LABEL)
})

test.each(['containers', 'initContainers'])(
  'nothing is attached where one of the %s declares production, unless that is allowed',
  async (kind) => {
    const { api, directory, kubeconfig } = opened(await startCluster('api'))
    const env = [{ name: 'ENVIRONMENT', value: 'production' }]
    const app = { name: 'app', ports: [{ containerPort: 3000 }] }
    const declaring = { name: 'other', env, restartPolicy: 'Always' }
    const spec = {
      containers: [app],
      [kind]: kind === 'containers' ? [app, declaring] : [declaring],
    }
    api.put(POD, { metadata: {}, spec, status: { phase: 'Running' } })
    api.denied.add('patch pods/ephemeralcontainers')
    const rules = join(directory, 'rules.yaml')
    await writeFile(rules, failing('one'))
    const args = ['attach', 'plain-1', '-n', 'shop', '-f', rules, '--kubeconfig', kubeconfig]
    const { code, stderr } = await startProgram(args, {}, { here: true })
    expect(stderr).toMatch(
      /ENVIRONMENT of the container other, .*; --allow-production continues anyway/,
    )
    expect(code).toBe(2)
    const allowed = await startProgram([...args, '--allow-production'], {}, { here: true })
    expect(allowed).toMatchObject({ code: 1, stderr: expect.stringContaining('is forbidden') })
  },
)

test('the audited end of faults includes the time until the container starts', async () => {
  const before = Date.now()
  let note = ''
  await attach({}, ({ api }) => {
    api.before = ({ path, body }) => {
      if (path.endsWith('/events')) note = JSON.stringify(body)
      // Nobody can wait for it.
      return addsContainer({ path } as Seen) || note === '' ? undefined : 403
    }
  })
  const [, until = ''] = /until (20[^" ]+Z)/.exec(note) ?? []
  const [minutes, timeout] = [15, 60]
  expect(Date.parse(until)).toBeGreaterThanOrEqual(
    before + minutes * 60_000 + timeout * 1000 - 1000,
  )
})
