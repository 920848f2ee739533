// part: api-server
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'
import { helmMissing, rendered } from './helm.ts'
import { startProgram } from '../support/commands.ts'
import { startCluster } from '../support/cluster.ts'

// The rights of each ClusterRole of the chart, as a real API server decides them for a user who is
// bound to it in one namespace.
const missing = helmMissing() ?? apiServerMissing()
const ROLES = ['viewer', 'on-call', 'operator', 'experimenter'] as const

/** A right, and the first role that has it; undefined where none has. */
const RIGHTS: readonly (readonly [string, (typeof ROLES)[number] | undefined])[] = [
  ['list pods', 'viewer'],
  ['get pods --subresource=proxy', 'viewer'],
  ['get configmaps/squall-rules', 'viewer'],
  ['list services', 'viewer'],
  ['patch configmaps/squall-rules', 'on-call'],
  ['patch configmaps/canary-rules', 'on-call'],
  ['create configmaps', 'on-call'],
  ['create events', 'on-call'],
  ['patch pods', 'operator'],
  ['patch pods --subresource=ephemeralcontainers', 'operator'],
  ['create pods --subresource=portforward', 'operator'],
  ['patch configmaps/others', 'experimenter'],
  ['create jobs.batch', 'experimenter'],
  ['get pods --subresource=log', 'experimenter'],
  ['get secrets', undefined],
  ['create pods', undefined],
  ['delete pods', undefined],
  ['create pods --subresource=exec', undefined],
  ['patch deployments.apps', undefined],
  ['create rolebindings.rbac.authorization.k8s.io', undefined],
]

describe.skipIf(missing !== undefined)('the ClusterRoles of the chart', () => {
  let server: ApiServer

  beforeAll(async () => {
    server = await startCluster('control-plane')
    const manifests = await rendered(['--set', 'rbac.roles=true,rbac.configMaps={canary-rules}'])
    const roles = manifests.filter(
      ({ kind, metadata }) =>
        kind === 'ClusterRole' && ROLES.some((each) => metadata.name === `squall-${each}`),
    )
    expect(roles).toHaveLength(ROLES.length)
    const bindings = ROLES.map((role) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: role, namespace: 'default' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: `squall-${role}`,
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: role }],
    }))
    const list = { apiVersion: 'v1', kind: 'List', items: [...roles, ...bindings] }
    const { ok, text } = await server.run('kubectl', ['create', '-f', '-'], JSON.stringify(list))
    expect(ok, text).toBe(true)
  }, 300_000)

  afterAll(() => server?.close())

  it.each(RIGHTS)('%s is allowed from %s on, in the namespace alone', async (right, first) => {
    for (const [level, role] of ROLES.entries()) {
      const allowed = first !== undefined && level >= ROLES.indexOf(first)
      expect(await may(role, right, 'default'), role).toBe(allowed)
    }
    expect(await may('experimenter', right, 'kube-system')).toBe(false)
  })

  it.each(['on-call', 'operator'])('squall check finds all permissions of %s', async (role) => {
    const args = ['check', '-n', 'default', '--kubeconfig', server.kubeconfig, '--as', role]
    const { stdout } = await startProgram(args, {}, { here: true })
    expect(stdout).toContain('√ permissions are granted')
  })

  async function may(user: string, right: string, namespace: string): Promise<boolean> {
    const args = ['auth', 'can-i', ...right.split(' '), '-n', namespace, '--as', user]
    const { text } = await server.run('kubectl', args)
    expect(text).toMatch(/^(yes|no)/m)
    return /^yes/m.test(text)
  }
})
