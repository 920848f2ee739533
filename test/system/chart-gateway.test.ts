// part: api-server
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readInjectedPod } from '../../packages/kubernetes/src/kube/injected-pod.ts'
import { type Manifest, manifestsOf } from '../deploy/manifest-problems.ts'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { call, callMessage, startUpstream } from '../support/wire.ts'
import { CHART, helmMissing, NAMESPACE, notes, rendered } from './helm.ts'

const opened = closers()
const VALUES = ['-f', `${CHART}ci/gateway.yaml`]
const EXAMPLE = fileURLToPath(new URL('../../deploy/examples/gateway.yaml', import.meta.url))
const INJECTED = new URL(
  '../../packages/kubernetes/test/injector/golden/port.out.yaml',
  import.meta.url,
)

interface Container {
  readonly name: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext: object
}

interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: {
    readonly containers: readonly [Container]
    readonly initContainers: readonly Container[]
  }
}

function found(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  return manifests.find((each) => each.kind === kind && each.metadata.name === name)!
}

function templateOf(manifests: readonly Manifest[], name: string): Template {
  return (found(manifests, 'Deployment', name)['spec'] as { template: Template }).template
}

const names = (manifests: readonly Manifest[]): readonly string[] =>
  manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()

describe.skipIf(helmMissing() !== undefined)('gateways of the chart', () => {
  it('are all that mode gateway installs, with monitoring where enabled', async () => {
    expect(names(await rendered(VALUES))).toEqual([
      'Deployment mcp-gateway',
      'Deployment search-gateway',
      'HTTPRoute search-gateway',
      'PodDisruptionBudget search-gateway',
      'PodMonitor squall-sidecars',
      'Service mcp-gateway',
      'Service search-gateway',
    ])
  })

  it('are installed beside the webhook in mode sidecar', async () => {
    const gateways = names(await rendered(['-f', EXAMPLE]))
    const webhook = names(await rendered([]))
    expect(names(await rendered(['-f', EXAMPLE, '--set', 'mode=sidecar']))).toEqual(
      [...gateways, ...webhook].toSorted(),
    )
  })

  it('start with flags that the program takes, among them defaults of sidecars', async () => {
    const [{ args, env }] = templateOf(await rendered(VALUES), 'search-gateway').spec.containers
    const variables = env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))
    const { request } = parseCommandLine(args, Object.fromEntries(variables), '0.1.0') as {
      request: object
    }
    expect(args).toEqual([
      'run',
      '--listen=[::]:8080',
      '--upstream=https://search.example.com',
      '--rules=/etc/squall/rules',
      '--environment=test',
      '--drain-timeout=30s',
      '--production-names=live,shop-*,production,prod,prd',
      '--max-percent=20%',
      '--deny-tools=pay_*',
      '--guard-min-calls=20',
    ])
    expect(request).toMatchObject({ admin: { port: 15_390 } })
  })

  it('keep the heap within their memory', async () => {
    const manifests = await rendered(VALUES)
    const heap = (name: string): string | undefined =>
      templateOf(manifests, name).spec.containers[0].env.find(
        (each) => each.name === 'NODE_OPTIONS',
      )?.value
    expect(heap('mcp-gateway')).toContain('--max-old-space-size=307 ')
    expect(heap('search-gateway')).toContain('--max-old-space-size=614 ')
  })

  it.each([
    ['1000000000', '572 '],
    ['1073741824000m', '614 '],
    ['1000', undefined],
  ])('derive the heap from a memory of %s', async (memory, heap) => {
    const set = ['--set-string', `gateways[0].resources.limits.memory=${memory}`]
    const { env } = templateOf(await rendered([...VALUES, ...set]), 'mcp-gateway').spec
      .containers[0]
    const { value } = env.find((each) => each.name === 'NODE_OPTIONS') ?? {}
    expect(value?.replace(/^--max-old-space-size=(\d+ ).*/, '$1')).toBe(heap)
  })

  it('run with the security context of injected sidecars', async () => {
    const [deployment] = manifestsOf(await readFile(INJECTED, 'utf8'))
    const [sidecar] = templateOf([deployment!], 'search').spec.initContainers
    const [{ securityContext }] = templateOf(await rendered(VALUES), 'mcp-gateway').spec.containers
    expect(securityContext).toEqual(sidecar!.securityContext)
  })

  it.each([
    ['mcp-gateway', 'squall-rules'],
    ['search-gateway', 'search-rules'],
  ])('are found by status, apply and stop: %s reads %s', async (name, configMap) => {
    const manifests = await rendered(VALUES)
    const { metadata, spec } = templateOf(manifests, name)
    const status = { containerStatuses: [{ name: 'squall', state: { running: {} } }] }
    const pod = { metadata: { ...metadata, name, namespace: NAMESPACE }, spec, status }
    // The label by which commands list pods.
    expect(metadata).toMatchObject({ labels: { 'squall.dev/sidecar': 'gateway' } })
    expect(readInjectedPod(pod, 'squall.dev/')).toMatchObject({
      sidecar: 'running',
      mode: 'gateway',
      adminPort: 15_390,
      rules: { configMap, key: undefined, path: '/etc/squall/rules' },
      // By which stops and rules choose pods.
      self: { workload: name, labels: metadata.labels },
    })
    const { selector } = found(manifests, 'Service', name)['spec'] as { selector: object }
    expect(metadata.labels).toMatchObject(selector)
    const other = name === 'mcp-gateway' ? 'search-gateway' : 'mcp-gateway'
    expect(templateOf(manifests, other).metadata.labels).not.toMatchObject(selector)
  })

  it('inject faults into calls of the Service that they stand for', async () => {
    const server = opened(await startUpstream('scripted', () => 'ok'))
    const directory = await mkdtemp(join(tmpdir(), 'squall-gateway-'))
    const rule = "{ name: r, match: { tool: echo }, faults: [{ abort: { toolError: 'no' } }] }"
    await writeFile(join(directory, 'rules.yaml'), `rules: [${rule}]\n`)
    const places: Readonly<Record<string, string>> = {
      '--listen=[::]:3000': '--listen=127.0.0.1:0',
      '--upstream=http://mcp-server:3000': `--upstream=${new URL(server.url).origin}`,
      '--rules=/etc/squall/rules': `--rules=${directory}`,
    }
    const [{ args }] = templateOf(await rendered(['-f', EXAMPLE]), 'mcp-gateway').spec.containers
    const [, ...flags] = args.flatMap((arg) => (places[arg] ?? arg).split('='))
    expect(flags.filter((flag) => /\[::\]|mcp-server|\/etc/.test(flag))).toEqual([])
    const squall = opened(await startSquall(...flags, '--admin', '127.0.0.1:0'))
    const { text } = await call({ port: squall.port, host: '127.0.0.1' }, callMessage(1))
    expect(text).toContain('"isError":true')
    expect(await squall.metric('squall_faults_injected_total', { rule: 'r' })).toBe(1)
  })

  it('say the next commands after an installation', async () => {
    const text = await notes(VALUES)
    expect(text).toContain(`kubectl -n ${NAMESPACE} rollout status deployment/search-gateway`)
    expect(text).toContain(`-n ${NAMESPACE} --for 15m --configmap search-rules\n`)
    expect(text).not.toContain('deployment/squall')
  })
})
