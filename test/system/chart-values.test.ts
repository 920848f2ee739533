// part: api-server
import { describe, expect, it } from 'vitest'
import { CHART, helmMissing, template } from './helm.ts'

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
