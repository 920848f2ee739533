import { fileURLToPath } from 'node:url'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { injectCommand } from '../../packages/kubernetes/src/cli/inject.ts'
import type { InjectRequest } from '../../packages/kubernetes/src/commands/inject.ts'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { deployed, type Manifest, manifestProblems, manifestsOf } from './manifest-problems.ts'

const FILES = ['mcp-server.yaml', 'load-job.yaml', 'pod-monitor.yaml']
const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string }

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
}

interface Template {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
  readonly spec: {
    readonly containers: readonly Container[]
    readonly initContainers?: readonly Container[]
  }
}

function example(file: string): readonly Manifest[] {
  return deployed(`examples/${file}`)
}

function templateOf(manifests: readonly Manifest[], kind: string): Template {
  const found = manifests.find((each) => each.kind === kind)!
  return (found['spec'] as { template: Template }).template
}

describe.each(FILES)('deploy/examples/%s', (file) => {
  it('holds what Kubernetes takes', () => {
    for (const manifest of example(file)) {
      expect(manifestProblems(manifest), manifest.kind).toEqual([])
    }
  })
})

describe('the example of a server', () => {
  it('has valid rules, which end by themselves', () => {
    const rules = example('mcp-server.yaml').find(({ kind }) => kind === 'ConfigMap')!
    const data = rules['data'] as Record<string, string>
    const parsed = parseRules(Buffer.from(data['rules.yaml']!))
    expect(parsed).toMatchObject({ ok: true })
    if (parsed.ok) expect(parsed.file.rules.every((rule) => rule.for !== undefined)).toBe(true)
  })

  it.each([
    ['privileged', 'redirect', ['squall-redirect', 'squall']],
    ['restricted', 'port', ['squall']],
  ])('gets the sidecar under Pod Security %s, by mode %s', async (level, mode, names) => {
    const injected = await inject({ 'pod-security.kubernetes.io/enforce': level })
    for (const manifest of injected) expect(manifestProblems(manifest), manifest.kind).toEqual([])
    const { metadata, spec } = templateOf(injected, 'Deployment')
    expect(JSON.parse(metadata.annotations['squall.dev/status']!)).toMatchObject({ mode })
    const { initContainers = [] } = spec
    expect(initContainers.map(({ name }: { name?: string } & Container) => name)).toEqual(names)
    // The program accepts the arguments that the injector writes.
    for (const { args } of initContainers) {
      expect(parseCommandLine(args, { SQUALL_UPSTREAM_HOST: '10.0.0.1' }, version).kind).toBe(
        'command',
      )
    }
    const port = initContainers.at(-1)!.ports?.find(({ name }) => name === 'squall-admin')
    expect(port).toMatchObject({ containerPort: 15_390 })
  })
})

describe('the example of a load', () => {
  it('runs the part that its pod has the index of', () => {
    const job = example('load-job.yaml')[0]!
    const spec = job['spec'] as { completions: number; completionMode: string }
    const { args, image } = templateOf([job], 'Job').spec.containers[0]!
    expect(image).toBe(`squall:${version}`)
    expect(spec.completionMode).toBe('Indexed')
    for (let index = 0; index < spec.completions; index++) {
      const env = { JOB_COMPLETION_INDEX: String(index) }
      expect(parseCommandLine(args, env, version)).toMatchObject({
        name: 'load',
        request: { shard: { index, count: spec.completions } },
      })
    }
  })
})

it('the load of the k6 operator sets what its script reads', () => {
  const script = ['load.js', 'verdict.js']
    .map((file) =>
      readFileSync(new URL(`../../deploy/examples/k6/${file}`, import.meta.url), 'utf8'),
    )
    .join('')
  const [run] = example('k6-operator.yaml')
  const { runner, ...spec } = run!['spec'] as {
    readonly runner: { readonly env: readonly { readonly name: string }[] }
  }
  expect(spec).toEqual({ parallelism: 4, script: { configMap: { name: 'k6', file: 'load.js' } } })
  expect(runner.env.filter(({ name }) => !script.includes(`__ENV.${name} `))).toEqual([])
})

it('monitors relabel as the example for plain Prometheus does', () => {
  const monitor = example('pod-monitor.yaml')[0]!
  const text = readFileSync(
    new URL('../../deploy/prometheus/scrape.example.yml', import.meta.url),
    'utf8',
  )
  const { scrape_configs: jobs } = parse(text) as {
    scrape_configs: {
      relabel_configs: { source_labels: string[]; regex?: string; target_label?: string }[]
    }[]
  }
  const plain = jobs[0]!.relabel_configs
    .filter((each) => each.target_label === 'workload')
    .map(({ source_labels: sourceLabels, regex, target_label: targetLabel }) => ({
      sourceLabels,
      ...(regex !== undefined && { regex }),
      targetLabel,
    }))
  expect(
    (monitor['spec'] as { podMetricsEndpoints: object[] }).podMetricsEndpoints[0],
  ).toMatchObject({
    port: 'squall-admin',
    relabelings: plain,
  })
})

async function inject(
  namespaceLabels: Readonly<Record<string, string>>,
): Promise<readonly Manifest[]> {
  let text = ''
  let reported = ''
  const request: InjectRequest = {
    filename: [fileURLToPath(new URL('../../deploy/examples/mcp-server.yaml', import.meta.url))],
    undo: false,
    format: 'yaml',
    namespace: 'default',
    namespaceLabel: namespaceLabels,
    namespaceAnnotation: {},
    kubernetesVersion: 33,
    annotation: {},
    image: undefined,
    settings: undefined,
  }
  const code = await injectCommand(request, {
    write: async (part) => void (text += part),
    note: async (part) => void (reported += part),
  })
  expect(code, reported).toBe(0)
  return manifestsOf(text)
}
