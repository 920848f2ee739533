// part: api-server
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { type Manifest, manifestsOf } from '../deploy/manifest-problems.ts'
import { policyJsonSchema } from '../../src/rules/policy/policy-schema.ts'
import { readPolicy } from '../../src/rules/policy/policy.ts'
import { CHART, helm, helmMissing, NAMESPACE, rendered } from './helm.ts'

const MODES = readdirSync(`${CHART}ci`)
/** The values of the chart as it first was. */
const FIRST_VALUES = fileURLToPath(new URL('golden/values-0.1.0.yaml', import.meta.url))

function settingsOf(manifests: readonly Manifest[]): Record<string, unknown> {
  const found = manifests.find(
    ({ kind, ...each }) => kind === 'ConfigMap' && 'settings.yaml' in (each['data'] as object),
  )
  const { data } = found as unknown as { data: Record<string, string> }
  return parse(data['settings.yaml']!) as Record<string, unknown>
}

describe.skipIf(helmMissing() !== undefined)('options of the chart', () => {
  it.each([
    ['sidecar.scrapeAnnotations=true', true],
    ['sidecar.scrapeAnnotations=false', false],
    ['monitoring.sidecars.enabled=true', false],
    ['monitoring.webhook.enabled=true', true],
  ])('with %s annotations for scraping are added: %s', async (set, added) => {
    const settings = settingsOf(await rendered(['--set', set]))
    expect(settings['scrapeAnnotations']).toBe(added)
  })

  it('stops what is armed in production, again and again, where configured', async () => {
    const isOfStop = ({ metadata: { name } }: Manifest): boolean =>
      name.endsWith('-production-stop')
    expect((await rendered(['-f', `${CHART}ci/default.yaml`])).filter(isOfStop)).toEqual([])
    const manifests = (await rendered(['-f', `${CHART}ci/everything.yaml`])).filter(isOfStop)
    const { jobTemplate } = manifests.find(({ kind }) => kind === 'CronJob')!['spec'] as {
      jobTemplate: {
        spec: { template: { spec: { containers: readonly { args: readonly string[] }[] } } }
      }
    }
    const { args } = jobTemplate.spec.template.spec.containers[0]!
    expect(parseCommandLine(args, {}, '0.1.0')).toMatchObject({
      name: 'stop',
      request: {
        allNamespaces: true,
        configMap: 'chaos-rules',
        onlyProduction: { patterns: ['live', 'shop-*'], environmentLabel: 'stage' },
      },
    })
    const rules = manifests.find(({ kind }) => kind === 'ClusterRole')!['rules'] as readonly Record<
      string,
      string[]
    >[]
    expect(rules.map(({ resources, verbs }) => `${resources?.join()}: ${verbs?.join()}`)).toEqual([
      'namespaces,nodes: get',
      'pods: list,patch',
      'configmaps: get,create,patch',
      'pods/proxy: get',
      'events: create',
    ])
  })

  it('mounts a policy that the webhook reads, and takes its keys in values', async () => {
    const manifests = await rendered(['-f', `${CHART}ci/policy.yaml`])
    const named = (name: string) => manifests.find(({ metadata }) => metadata.name === name)!
    const { data } = named('squall-policy') as unknown as { data: Record<string, string> }
    const { validation } = parse(readFileSync(`${CHART}ci/policy.yaml`, 'utf8')) as {
      validation: { policy: object }
    }
    expect(parse(data['policy.yaml']!)).toEqual(validation.policy)
    expect(readPolicy(data['policy.yaml']!)).toMatchObject({ ok: true })
    const deployment = manifests.find(({ kind }) => kind === 'Deployment')!
    const { template } = deployment['spec'] as {
      template: { spec: { containers: readonly { args: readonly string[] }[] } }
    }
    const request = parseCommandLine(template.spec.containers[0]!.args, {}, '0.1.0')
    expect(request).toMatchObject({ request: { policyFile: '/etc/squall/policy/policy.yaml' } })
    const schema = JSON.parse(readFileSync(`${CHART}values.schema.json`, 'utf8')) as {
      properties: { validation: { properties: { policy: { properties: object } } } }
    }
    const { policy } = schema.properties.validation.properties
    const keys = Object.keys(policyJsonSchema().properties ?? {})
    expect(Object.keys(policy.properties).toSorted()).toEqual(keys.toSorted())
    // A change of the policy starts no new pods.
    const other = await rendered([
      '-f',
      `${CHART}ci/policy.yaml`,
      '--set',
      'validation.policy.maxPercent=10%',
    ])
    expect(other.find(({ kind }) => kind === 'Deployment')).toEqual(deployment)
  })

  it('leads from alerts to your copy of the runbooks', async () => {
    const address = 'https://wiki.example/squall'
    const set = `monitoring.rules.enabled=true,monitoring.rules.runbooks=${address}`
    const rules = (await rendered(['--set', set])).filter(({ kind }) => kind === 'PrometheusRule')
    const urls = [...JSON.stringify(rules).matchAll(/"runbook_url":"([^"]*)"/g)]
    expect(urls.length).toBeGreaterThan(8)
    for (const [, url] of urls)
      expect(url).toMatch(/^https:\/\/wiki\.example\/squall#squall[a-z]+$/)
  })

  it.each(['default', 'external', 'self-managed', 'cert-manager'])(
    'with ci/%s.yaml the same rules are sent to be anchored as to be checked',
    async (mode) => {
      const hooks = async (set: string): Promise<readonly Values[]> => {
        const manifests = await rendered(['-f', `${CHART}ci/${mode}.yaml`, '--set', set])
        return manifests.flatMap(({ webhooks = [] }) => webhooks as readonly Values[])
      }
      const on = 'validation.rules.enabled=true,validation.rules.failurePolicy=Fail'
      const [inject, anchor, check, ...others] = await hooks(on)
      expect(others).toEqual([])
      const own = new Set(['name', 'clientConfig', 'reinvocationPolicy'])
      const meant = (hook: Values): Values =>
        Object.fromEntries(Object.entries(hook).filter(([key]) => !own.has(key)))
      expect(meant(anchor!)).toEqual(meant(check!))
      const trusted = ({ clientConfig }: Values): unknown => (clientConfig as Values)['caBundle']
      expect(trusted(anchor!)).toEqual(trusted(inject!))
      expect(anchor).toMatchObject({ clientConfig: { service: { path: '/mutate-rules' } } })
      const names = (await hooks(`${on},validation.rules.anchor=false`)).map(({ name }) => name)
      expect(names).toEqual(['inject.squall.dev', 'rules.squall.dev'])
      const off = await hooks('validation.rules.anchor=true')
      expect(off.map(({ name }) => name)).toEqual(['inject.squall.dev'])
    },
  )
})

type Values = Readonly<Record<string, unknown>>

/** Returns the values without those that the first chart did not have. */
function knownTo(first: Values, now: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const kept = Object.entries(now).filter(([key]) => key in first)
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const before = first[key]
      return [key, isMap(value) && isMap(before) ? knownTo(before, value) : value]
    }),
  )
}

// `helm upgrade --reuse-values` gives templates the values of the chart that the release was
// installed from, and none that came later.
describe.skipIf(helmMissing() !== undefined)('a release with the values of the first chart', () => {
  let older: string

  beforeAll(() => {
    older = mkdtempSync(join(tmpdir(), 'squall-older-chart-'))
    cpSync(CHART, older, { recursive: true })
    const [now, first] = [`${CHART}values.yaml`, FIRST_VALUES].map(
      (file) => parse(readFileSync(file, 'utf8')) as Values,
    )
    writeFileSync(join(older, 'values.yaml'), stringify(knownTo(first!, now!)))
  })

  afterAll(() => rmSync(older, { recursive: true, force: true }))

  it.each(MODES)('renders with ci/%s what new values render', async (mode) => {
    const version = mode === 'label.yaml' ? '1.25.0' : '1.33.0'
    const values = ['-n', NAMESPACE, '--kube-version', version, '-f', `${CHART}ci/${mode}`]
    const texts = [older, CHART].map(async (chart) => {
      const { ok, out, error } = await helm(['template', 'squall', chart, ...values])
      if (!ok) throw new Error(error)
      return JSON.stringify(manifestsOf(out)).replaceAll(
        /"(ca\.crt|tls\.crt|tls\.key|caBundle)":"[^"]*"/g,
        '',
      )
    })
    const [old, now] = await Promise.all(texts)
    expect(old).toBe(now)
  })

  it('has templates that each begin by completing the values', () => {
    const directory = join(CHART, 'templates')
    for (const file of readdirSync(directory).filter((name) => !name.endsWith('.tpl'))) {
      const text = readFileSync(join(directory, file), 'utf8')
      expect(text, file).toMatch(/^\{\{-? include "squall\.complete" \. -\}\}\n/)
    }
  })
})

describe.skipIf(helmMissing() !== undefined)('every value', () => {
  it('is used by a template', () => {
    const directory = join(CHART, 'templates')
    const texts = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'))
    const all = texts.join('\n')
    const defaults = parse(readFileSync(join(CHART, 'files/defaults.yaml'), 'utf8')) as object
    const last = (path: string): string => path.split('.').at(-1)!
    const unused = Object.keys(defaults).filter((path) => !all.includes(`.${last(path)}`))
    expect(unused).toEqual([])
  })
})

describe('the base for kustomize', () => {
  it('builds what install.yaml has', async () => {
    const base = fileURLToPath(new URL('../../deploy/kustomize/', import.meta.url))
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', base])
    const install = readFileSync(join(base, '../manifests/install.yaml'), 'utf8')
    const ids = (text: string): readonly string[] =>
      manifestsOf(text)
        .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
        .toSorted()
    expect(ids(stdout)).toEqual(ids(install))
  })
})
