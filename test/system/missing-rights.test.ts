// part: api-server
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { startCluster } from '../support/cluster.ts'
import { startProgram } from '../support/commands.ts'
import { admissionOf, type Admission } from './admission.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'

// A real API server, whose RBAC and Pod Security decide. There are no nodes, so no pod runs.
const missing = apiServerMissing()
const IN_SHOP = ['-n', 'shop'] as const
const CONFIG_MAP_RIGHTS = ['--verb=get,patch,create', '--resource=configmaps,events'] as const

let server: ApiServer
let kubectl: Admission['kubectl']
let create: Admission['create']
let directory: string

/** Runs the program as a user with these rights alone. */
async function squallAs(user: string, rights: readonly string[], ...args: readonly string[]) {
  await kubectl([...IN_SHOP, 'create', 'serviceaccount', user])
  await kubectl([...IN_SHOP, 'create', 'role', user, ...rights])
  const bound = [`--role=${user}`, `--serviceaccount=shop:${user}`]
  await kubectl([...IN_SHOP, 'create', 'rolebinding', user, ...bound])
  const token = (await kubectl([...IN_SHOP, 'create', 'token', user])).trim()
  const access = [...IN_SHOP, '--kubeconfig', server.kubeconfigFor(token)]
  return startProgram([...args, ...access]).finished()
}

/** Returns a pod without what the API server changes with each write. */
async function pod(name: string): Promise<unknown> {
  const text = await kubectl([...IN_SHOP, 'get', 'pod', name, '-o', 'json'])
  const found = JSON.parse(text) as { metadata: object }
  return { ...found, metadata: { ...found.metadata, resourceVersion: '' } }
}

describe.skipIf(missing !== undefined)('a user with few rights on a real API server', () => {
  beforeAll(async () => {
    server = await startCluster('control-plane')
    ;({ kubectl, create } = admissionOf(server))
    directory = await mkdtemp(join(tmpdir(), 'squall-rights-'))
    await writeFile(join(directory, 'rules.yaml'), failing('one'))
    await kubectl(['create', 'namespace', 'shop'])
  }, 300_000)

  afterAll(async () => {
    await server?.close()
    await rm(directory, { recursive: true, force: true })
  })

  test.each(['stop', 'resume'])('%s fails without the right to list pods', async (action) => {
    const { code, stdout, stderr } = await squallAs(action, CONFIG_MAP_RIGHTS, action)
    expect(stdout).toMatch(/^configmap squall-rules in shop: (?:stopped|resumed)\n/)
    expect(stdout).not.toContain('confirmed by')
    expect(stderr).toContain('the pods with a sidecar are unknown: cannot list pods')
    expect(code).toBe(1)
  })

  test.each([
    ['without the right to add containers', '--resource=pods', 'is forbidden', 'privileged'],
    [
      'in a namespace that it cannot read, under Pod Security',
      '--resource=pods,pods/ephemeralcontainers',
      'nothing was attached: the namespace enforces the Pod Security level baseline',
      'baseline',
    ],
  ])('attach %s leaves the pod unchanged', async (_, resources, why, level) => {
    const enforce = `pod-security.kubernetes.io/enforce=${level}`
    await kubectl(['label', '--overwrite', 'namespace', 'shop', enforce])
    const name = `plain-${level}`
    await create('shop', name, { labels: { app: 'plain' } })
    const running = '{"status":{"phase":"Running"}}'
    await kubectl([...IN_SHOP, 'patch', 'pod', name, '--subresource=status', '-p', running])
    const before = await pod(name)
    const rights = ['--verb=get,patch', resources]
    const rules = join(directory, 'rules.yaml')
    const { code, stderr } = await squallAs(level, rights, 'attach', name, '-f', rules)
    expect(stderr).toContain(why)
    expect(code).toBe(1)
    expect(await pod(name)).toEqual(before)
  })
})
