// part: api-server
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { parseInjectorSettings } from '../../packages/kubernetes/src/injector/parse-settings.ts'
import { type Manifest, manifestProblems } from '../deploy/manifest-problems.ts'
import { golden, keptGolden } from './chart-golden.ts'
import { CHART, HELM, helm, helmMissing, NAMESPACE, notes, rendered } from './helm.ts'

const missing = helmMissing()
if (missing !== undefined) process.stderr.write(`chart tests are left out: ${missing}\n`)

/** All files of values, and the version of Kubernetes that each is for. */
const MODES = readdirSync(`${CHART}ci`).map((file) => file.replace('.yaml', ''))
const VERSIONS: Readonly<Record<string, string>> = { label: '1.25.0', gateway: '1.25.0' }
const RANDOM = (mode: string): boolean => mode !== 'external'
const CLUSTER_KINDS = [
  'ClusterRole',
  'ClusterRoleBinding',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]

interface PodSpec {
  readonly automountServiceAccountToken: boolean
  readonly hostNetwork?: boolean
  readonly securityContext: object
  readonly volumes: readonly { readonly name: string }[]
  readonly containers: readonly {
    readonly args: readonly string[]
    readonly securityContext: object
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  }[]
}

function modeOf(mode: string, ...more: string[]): Promise<readonly Manifest[]> {
  return rendered(['-f', `${CHART}ci/${mode}.yaml`, ...more], VERSIONS[mode])
}

function isOfUninstall({ metadata: { annotations } }: Manifest): boolean {
  return annotations?.['helm.sh/hook'] === 'pre-delete'
}

function only(manifests: readonly Manifest[], kind: string): Manifest {
  const found = manifests.filter((each) => each.kind === kind)
  expect(found, kind).toHaveLength(1)
  return found[0]!
}

function podOf(manifests: readonly Manifest[]): PodSpec {
  const { template } = only(manifests, 'Deployment')['spec'] as { template: { spec: PodSpec } }
  return template.spec
}

interface Hook {
  readonly name: string
  readonly failurePolicy: string
  readonly reinvocationPolicy: string
  readonly sideEffects: string
  readonly timeoutSeconds: number
  readonly matchConditions?: readonly { readonly expression: string }[]
  readonly objectSelector?: object
  readonly clientConfig: { readonly caBundle?: string; readonly service: { readonly path: string } }
  readonly namespaceSelector: { readonly matchExpressions: readonly object[] }
}

function hookOf(manifests: readonly Manifest[]): Hook {
  const hooks = only(manifests, 'MutatingWebhookConfiguration')['webhooks'] as readonly Hook[]
  const injecting = hooks.filter(({ name }) => name === 'inject.squall.dev')
  expect(injecting).toHaveLength(1)
  return injecting[0]!
}

describe.skipIf(missing !== undefined)('the chart', () => {
  it('passes helm lint with all values', async () => {
    const values = MODES.flatMap((mode) => (mode === 'label' ? [] : [`${CHART}ci/${mode}.yaml`]))
    for (const file of values) {
      const run = await helm(['lint', CHART, '--strict', '--kube-version', '1.33.0', '-f', file])
      expect(`${run.out}${run.error}`).toContain('0 chart(s) failed')
    }
  })

  describe.each(MODES)('with ci/%s.yaml', (mode) => {
    it('renders what its golden file says (npm run generate rewrites it)', async () => {
      const text = golden(await modeOf(mode), RANDOM(mode))
      expect(text).not.toContain('(not what')
      expect(text, 'the golden file is stale: run npm run generate').toBe(keptGolden(mode, text))
    })

    it('renders what the schemas of Kubernetes take', async () => {
      for (const manifest of await modeOf(mode)) {
        expect(manifestProblems(manifest), manifest.kind).toEqual([])
      }
    })

    it('leaves nothing behind that helm uninstall does not remove', async () => {
      for (const { kind, metadata } of await modeOf(mode)) {
        const { name, namespace, labels, annotations = {} } = metadata
        if (namespace === undefined) expect(CLUSTER_KINDS, name).toContain(kind)
        else expect(namespacesOf(name)).toContain(namespace)
        expect(labels, name).toMatchObject({
          'app.kubernetes.io/instance': 'squall',
          'app.kubernetes.io/managed-by': 'Helm',
        })
        // Objects of `helm test` and of `helm uninstall` itself are deleted when these have
        // succeeded.
        const kept = Object.keys(annotations).filter((key) => key.startsWith('helm.sh/'))
        if (annotations['helm.sh/hook'] === undefined) expect(kept, name).toEqual([])
        else expect(annotations['helm.sh/hook-delete-policy'], name).toContain('hook-succeeded')
      }
    })

    it.skipIf(mode === 'gateway')(
      'starts the webhook with flags and settings that it takes',
      async () => {
        const manifests = await modeOf(mode)
        const { args, ports } = podOf(manifests).containers[0]!
        const asked = parseCommandLine(args, {}, '0.1.0')
        const port = (name: string): unknown =>
          ports.find((each) => each.name === name)?.containerPort
        expect(asked).toMatchObject({
          name: 'webhook',
          request: {
            listen: { port: port('https') },
            admin: { port: port('admin') },
            settingsFile: '/etc/squall/injector/settings.yaml',
          },
        })
        const settings = manifests.find(
          ({ kind, ...each }) =>
            kind === 'ConfigMap' && 'settings.yaml' in (each['data'] as object),
        )!
        const data = settings['data'] as Record<string, string>
        const parsed = parseInjectorSettings(parse(data['settings.yaml']!), '0.1.0')
        expect(parsed.excludedNamespaces).toContain(NAMESPACE)
        const { timeoutSeconds } = hookOf(manifests)
        const { reviewTimeoutMs } = (asked as { request: { reviewTimeoutMs: number } }).request
        expect(reviewTimeoutMs).toBeLessThan(timeoutSeconds * 1000)
      },
    )

    it.skipIf(mode === 'gateway')(
      'runs the webhook under the Pod Security level restricted',
      async () => {
        const pod = podOf(await modeOf(mode))
        expect(pod.hostNetwork ?? false).toBe(mode === 'everything')
        expect(pod.securityContext).toMatchObject({ runAsNonRoot: true })
        for (const { securityContext } of pod.containers) {
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            capabilities: { drop: ['ALL'] },
            seccompProfile: { type: 'RuntimeDefault' },
          })
        }
      },
    )
  })

  it('stops all sidecars before it is uninstalled, with rights that it has only then', async () => {
    const manifests = (await modeOf('everything')).filter(isOfUninstall)
    const { template } = only(manifests, 'Job')['spec'] as { template: { spec: PodSpec } }
    const asked = parseCommandLine(template.spec.containers[0]!.args, {}, '0.1.0')
    expect(asked).toMatchObject({
      name: 'stop',
      request: { allNamespaces: true, configMap: 'chaos-rules' },
    })
    const rules = only(manifests, 'ClusterRole')['rules'] as readonly Record<string, string[]>[]
    expect(rules.map(({ resources, verbs }) => `${resources?.join()}: ${verbs?.join()}`)).toEqual([
      'pods: get,list,patch',
      'pods/ephemeralcontainers: patch',
      'nodes: get',
      'configmaps: create,patch',
      'pods/proxy: get',
      'events: create',
    ])
    const without = await modeOf('default', '--set', 'uninstall.stop=false')
    expect(without.filter(isOfUninstall)).toEqual([])
  })

  it('gives the webhook no rights by default', async () => {
    const manifests = (await modeOf('default')).filter((each) => !isOfUninstall(each))
    expect(manifests.filter(({ kind }) => /Role/.test(kind))).toEqual([])
    expect(podOf(manifests).automountServiceAccountToken).toBe(false)
    expect(only(manifests, 'ServiceAccount')['automountServiceAccountToken']).toBe(false)
  })

  it('gives a webhook that manages its certificates the rights to two objects, and none to make any', async () => {
    const all = await modeOf('default', '--set', 'certificates.mode=selfManaged')
    const manifests = all.filter((each) => !isOfUninstall(each))
    expect(podOf(manifests).automountServiceAccountToken).toBe(true)
    const secret = only(manifests, 'Secret')
    expect(only(manifests, 'Role')['rules']).toEqual([
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: [secret.metadata.name],
        verbs: ['get', 'update'],
      },
    ])
    expect(only(manifests, 'ClusterRole')['rules']).toEqual([
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations'],
        resourceNames: [only(manifests, 'MutatingWebhookConfiguration').metadata.name],
        verbs: ['get', 'patch'],
      },
    ])
    const { request } = parseCommandLine(podOf(manifests).containers[0]!.args, {}, '0.1.0') as {
      request: object
    }
    expect(request).toMatchObject({
      tls: {
        kind: 'managed',
        secret: secret.metadata.name,
        configuration: 'squall',
        hosts: ['squall.squall-system.svc'],
      },
    })
  })

  it('holds up no pod that does not ask for the sidecar', async () => {
    const byAnnotation = hookOf(await modeOf('default'))
    expect(byAnnotation).toMatchObject({
      failurePolicy: 'Fail',
      reinvocationPolicy: 'IfNeeded',
      sideEffects: 'None',
      timeoutSeconds: 5,
    })
    expect(byAnnotation.matchConditions?.[0]?.expression).toContain(
      "'squall.dev/inject' in object.metadata",
    )
    expect(byAnnotation.objectSelector).toBeUndefined()
    const byLabel = hookOf(await modeOf('label'))
    expect(byLabel.matchConditions).toBeUndefined()
    expect(byLabel.objectSelector).toEqual({
      matchExpressions: [
        { key: 'squall.dev/inject', operator: 'Exists' },
        { key: 'squall.dev/inject', operator: 'NotIn', values: ['false'] },
      ],
    })
  })

  it.each([
    ['refuse', false, 'policy', true],
    ['refuse', true, 'webhook', false],
    ['ignore', false, 'nobody', true],
    ['ignore', true, 'nobody', true],
    ['allow', false, 'nobody', false],
  ])(
    'production.action=%s with readNamespaces=%s: %s refuses',
    async (action, reads, who, isPassed) => {
      const set = `production.action=${action},webhook.readNamespaces=${reads}`
      const manifests = await modeOf('default', '--set', set)
      const { matchExpressions } = hookOf(manifests).namespaceSelector
      const production = {
        key: 'environment',
        operator: 'NotIn',
        values: ['production', 'prod', 'prd', 'live'],
      }
      expect(
        matchExpressions.some((each) => JSON.stringify(each) === JSON.stringify(production)),
      ).toBe(isPassed)
      const policies = manifests.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'))
      expect(policies).toHaveLength(who === 'policy' ? 2 : 0)
    },
  )

  it.each([
    ['default', '{"metadata":{"annotations":{"squall.dev/inject":"true"}}}'],
    ['label', '{"metadata":{"labels":{"squall.dev/inject":"true"}}}'],
  ])('says the next commands after an installation with %s', async (mode, patch) => {
    const text = await notes(['-f', `${CHART}ci/${mode}.yaml`])
    expect(text).toContain(`kubectl -n ${NAMESPACE} rollout status deployment/squall`)
    expect(text).toContain(patch)
    expect(text).toContain('npx mcp-squall apply -f rules.yaml -n NAMESPACE --for 15m\n')
    expect(text).toContain('npx mcp-squall stop -n NAMESPACE')
  })

  it('is what deploy/manifests/install.yaml was rendered from', async () => {
    const script = fileURLToPath(new URL('../../scripts/render-manifests.mjs', import.meta.url))
    const env = { ...process.env, SQUALL_HELM: HELM }
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--check'], { env })
    expect(stdout).toContain('is current')
  })
})

/** Returns the namespaces that an object of the chart may be in. */
function namespacesOf(name: string): readonly string[] {
  // Experiments get their rights in the namespaces of `experiments.namespaces`.
  return name.endsWith('-experiment') ? ['shop', 'search'] : [NAMESPACE, 'monitoring']
}
