// part: api-server
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { manifestsOf } from '../deploy/manifest-problems.ts'
import { CHART, helm, helmMissing, rendered, template } from './helm.ts'

const missing = helmMissing()

const POLICY =
  'validation.rules.enabled=true,webhook.readNamespaces=true,validation.policy.environments={dev}'
const GATEWAY = 'gateways[0].name=a,gateways[0].upstream=http://b,gateways[0].environment=dev'
const EXTERNAL = 'certificates.mode=external,certificates.external.secretName=mine'

describe.skipIf(missing !== undefined)('values that are wrong', () => {
  it.each([
    ['replicas=2', "'replicas' not allowed"],
    ['webhook.replica=2', "'replica' not allowed"],
    ['webhook.replicas=0', '/webhook/replicas'],
    ['webhook.replicas=two', '/webhook/replicas'],
    ['webhook.matchBy=namespace', "/webhook/matchBy': value must be one of 'annotation', 'label'"],
    ['webhook.failurePolicy=fail', "value must be one of 'Fail', 'Ignore'"],
    ['webhook.timeoutSeconds=31', '/webhook/timeoutSeconds'],
    ['webhook.port=443', '/webhook/port'],
    ['webhook.port=15391', 'webhook.port and webhook.adminPort must differ; both are 15391'],
    ['webhook.readNamespaces=yes', '/webhook/readNamespaces'],
    ['webhook.resources.limit.memory=1Gi', "'limit' not allowed"],
    ['webhook.resources.limits.memory=lots', '/webhook/resources/limits/memory'],
    ['webhook.namespaceSelector[0].key=a', "missing property 'operator'"],
    ['image.repository=a b', '/image/repository'],
    ['image.repository=squall:1.0', '/image/repository'],
    ['image.digest=abc', '/image/digest'],
    ['image.pullPolicy=Sometimes', '/image/pullPolicy'],
    ['production.action=warn', "value must be one of 'refuse', 'ignore', 'allow'"],
    ['production.values=prod', '/production/values'],
    ['sidecar.user=0', '/sidecar/user'],
    ['sidecar.defaults.max-percents=20', "'max-percents' not allowed"],
    ['sidecar.defaults.inject=true', "'inject' not allowed"],
    ['certificates.mode=cert-manager', "'generated', 'certManager', 'external', 'selfManaged'"],
    ['certificates.certManager.duration=90d', '/certificates/certManager/duration'],
    [
      'certificates.mode=external',
      'certificates.mode=external requires certificates.external.secretName',
    ],
    [EXTERNAL, 'certificates.mode=external requires certificates.external.caBundle'],
    [`${EXTERNAL},certificates.external.caBundle=LS0t`, 'requires certificates.external.caBundle'],
    ['certificates.external.secretName=mine', 'requires certificates.mode=external; got generated'],
    ['serviceAccount.create=false', 'serviceAccount.create=false requires serviceAccount.name'],
    ['validation.policy.faullts={delay}', "'faullts' not allowed"],
    [
      'validation.policy.environments={dev}',
      'validation.policy requires validation.rules.enabled and webhook.readNamespaces',
    ],
    [POLICY, 'validation.policy requires targets and environments'],
    [
      `${POLICY},validation.policy.targets={*},validation.policy.requireUntil=true,validation.rules.anchor=false`,
      'validation.policy.requireUntil requires validation.rules.anchor',
    ],
    [
      `${POLICY},validation.policy.targets={*}`,
      'validation.policy requires validation.rules.failurePolicy=Fail',
    ],
    ['mode=gateways', "/mode': value must be one of 'sidecar', 'gateway'"],
    ['mode=gateway', 'mode=gateway requires gateways: name at least one'],
    [`mode=gateway,validation.rules.enabled=true,${GATEWAY}`, 'requires mode=sidecar'],
    [`mode=gateway,monitoring.webhook.enabled=true,${GATEWAY}`, 'requires mode=sidecar'],
    ['gateways[0].name=a,gateways[0].upstream=http://b', "missing property 'environment'"],
    [`${GATEWAY},${GATEWAY.replaceAll('[0]', '[1]')}`, 'the name a is taken'],
    [`${GATEWAY},gateways[0].name=squall`, 'the name squall is taken'],
    [`${GATEWAY},gateways[0].upstream=mcp-server:3000`, '/gateways/0/upstream'],
    [`${GATEWAY},gateways[0].port=15390`, '/gateways/0/port'],
    [`${GATEWAY},gateways[0].rule=a`, "'rule' not allowed"],
    [`${GATEWAY},gateways[0].route.hostnames={a}`, "missing property 'parentRefs'"],
    ['networkPolicy.apiServerPorts={http}', '/networkPolicy/apiServerPorts/0'],
    ['monitoring.rules=true', '/monitoring/rules'],
    ['monitoring.interval=often', '/monitoring/interval'],
    ['fullnameOverride=Storm', '/fullnameOverride'],
    ['commonLabels.team=1', '/commonLabels/team'],
  ])('%s is refused: %s', async (set, message) => {
    const { ok, error } = await template(['--set', set])
    expect(ok).toBe(false)
    expect(error).toContain(message)
  })

  it('an annotation cannot be required before Kubernetes 1.30, and the error names the alternative', async () => {
    const { ok, error } = await template(['-f', `${CHART}ci/default.yaml`], '1.29.9')
    expect(ok).toBe(false)
    expect(error).toContain('webhook.matchBy=annotation requires Kubernetes 1.30')
    expect(error).toContain('set webhook.matchBy=label')
  })

  it('clusters that are too old are refused', async () => {
    const { ok, error } = await template(['--set', 'webhook.matchBy=label'], '1.24.0')
    expect(ok).toBe(false)
    expect(error).toContain('>=1.25.0')
  })
})

/** Returns the objects of the chart where all names are `name`, as JSON. */
async function named(name: string, gateway: string): Promise<string> {
  const values = {
    commonLabels: { 'app.kubernetes.io/part-of': name, team: name },
    image: { repository: name, pullSecrets: [name] },
    sidecar: { image: name, rules: name, adminSecret: name },
    serviceAccount: { name },
    webhook: { priorityClassName: name },
    production: { label: name, stop: { enabled: true } },
    budget: { enabled: true },
    validation: { rules: { enabled: true } },
    rbac: { roles: true, configMaps: [name] },
    experiments: { namespaces: [name] },
    monitoring: {
      namespace: name,
      readTokenSecret: name,
      sidecars: { enabled: true },
      webhook: { enabled: true },
    },
    // The certificates of other modes are new each time.
    certificates: { mode: 'selfManaged' },
    gateways: [{ name: gateway, upstream: 'http://a', environment: name, rules: name }],
  }
  const sets = Object.entries(values).flatMap(([key, value]) => [
    '--set-json',
    `${key}=${JSON.stringify(value)}`,
  ])
  const args = ['template', name, CHART, '-n', name, '--kube-version', '1.33.0', ...sets]
  const { ok, out, error } = await helm(args)
  expect(ok, error).toBe(true)
  return JSON.stringify(manifestsOf(out), (key, value: unknown) => {
    if (key.startsWith('checksum/')) return ''
    return key === 'settings.yaml' ? (parse(value as string) as unknown) : value
  })
}

describe.skipIf(missing !== undefined)('names', () => {
  it.each(['true', 'null', '123', '1e3'])('like %s stay text in YAML', async (name) => {
    // Names of Services begin with a letter.
    const first = /^\d/.test(name) ? 'x' : ''
    const wanted = await named('marker', `${first}marker`)
    const text = wanted.replaceAll('marker', name).replaceAll('MARKER', name.toUpperCase())
    expect(JSON.parse(await named(name, `${first}${name}`))).toEqual(JSON.parse(text))
  })

  it('of the release are not there twice, whatever the common labels are', async () => {
    const key = 'app.kubernetes.io/part-of'
    const set = ['--set-json', `commonLabels=${JSON.stringify({ [key]: 'platform', a: 'b' })}`]
    const { out } = await template([...set, '-s', 'templates/service.yaml'])
    expect(out.match(/part-of: .*/g)).toEqual(['part-of: platform'])
    expect(out).toContain('a: b')
  })

  it('that mean production are the same for the CronJob and for the webhook', async () => {
    const set = [
      '--set',
      'production.stop.enabled=true,production.values={customer},production.names={eu}',
    ]
    const found = JSON.stringify(await rendered(set))
    expect(found).toContain('productionEnvironments: [\\"eu\\",\\"customer\\"]')
    expect(found).toContain('"--production-names=eu,customer"')
  })
})
