import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Cluster } from './start-cluster.ts'

/** A rule of a Role. */
export interface RoleRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** Makes a user with these rights in a namespace and no others; resolves with its kubeconfig. */
export async function narrowUser(
  cluster: Cluster,
  namespace: string,
  name: string,
  rules: readonly RoleRule[],
): Promise<string> {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name, namespace } }
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { ...rbac, kind: 'Role', rules },
    {
      ...rbac,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(list))
  const token = (await cluster.kubectl(['-n', namespace, 'create', 'token', name])).trim()
  const kubeconfig = parse(await readFile(cluster.kubeconfig, 'utf8')) as Record<string, unknown>
  kubeconfig['users'] = [{ name: 'admin', user: { token } }]
  const path = join(cluster.namespaces.directory, `${name}.conf`)
  await writeFile(path, stringify(kubeconfig), { mode: 0o600 })
  return path
}
