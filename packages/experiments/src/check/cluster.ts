import {
  armedText,
  asKubeError,
  clientFor,
  clusterFlags,
  type ClusterOptions,
  endOf,
  findArmedProduction,
  isKubeError,
  type KubeClient,
  type Limits,
  metadataOf,
  MUTATING_WEBHOOKS,
  PODS,
  reportsReady,
  RULES_CONFIG_MAP,
  SERVICES,
  sidecarOverview,
  type SidecarReport,
} from '#kubernetes'
import { fieldsOf, isRecord, listOf, textOf, textsOf } from '#base'
import { PRODUCTION_NAMES } from '#rules'
import { selectorText } from '../operations/pods/pod-labels.ts'
import { byProblems, type Check, type CheckGroup, failed, passed, skipped } from './result.ts'

/** The webhook that injects sidecars, as the chart names it. */
const WEBHOOK = 'inject.squall.dev'
const PAGE = 'docs/get-started/kubernetes.md'
const LIMITS: Limits = { timeoutMs: 5_000 }

/** Rights that the commands need; each list is satisfied by one of its members. */
const RIGHTS: readonly (readonly (readonly [verb: string, resource: string])[])[] = [
  [['list', 'pods']],
  [['get', 'configmaps']],
  [['patch', 'configmaps']],
  [
    ['get', 'pods/proxy'],
    ['create', 'pods/portforward'],
  ],
  [['list', 'services']],
]

/** Checks the API server, the rights of the user, the webhook, and a namespace. */
export async function checkCluster(options: ClusterOptions): Promise<readonly CheckGroup[]> {
  const client = await clientFor(options)
  const namespace = options.namespace ?? client.namespace
  try {
    const server = await orError('the API server responds', () => serverCheck(client))
    if (server.some(({ result }) => result === 'failed')) {
      return [{ group: 'cluster', checks: server }]
    }
    const rights = await orError('permissions are granted', () => rightsCheck(client, namespace))
    const webhook = await orError('the webhook is installed', () => webhookChecks(client))
    const production = await productionCheck(client, namespace, options.prefix)
    const sidecars = await orError('sidecars run', () =>
      namespaceChecks(client, namespace, options, production.fix),
    )
    return [
      { group: 'cluster', checks: [...server, ...rights, ...webhook] },
      { group: 'namespace', checks: [production, ...sidecars] },
    ]
  } finally {
    await client.close()
  }
}

/** Turns an error of the API server into a result: a missing permission leaves the check out. */
async function orError(
  check: string,
  run: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await run()
  } catch (error) {
    const { message } = asKubeError(error)
    const [found = '', ...fix] = message.split('; ')
    const result = isKubeError(error, 'forbidden') ? skipped : failed
    return [result(check, found, fix.join('; ') || 'check --kubeconfig and --context')]
  }
}

async function serverCheck(client: KubeClient): Promise<readonly Check[]> {
  const asked = { method: 'GET', path: '/version', what: 'read the version', ...LIMITS } as const
  const version = textOf(fieldsOf(await client.request(asked))['gitVersion'])
  return [passed('the API server responds', version ?? 'version unknown')]
}

async function rightsCheck(client: KubeClient, namespace: string): Promise<readonly Check[]> {
  const missing = await Promise.all(
    RIGHTS.map(async (alternatives) => {
      const answers = await Promise.all(alternatives.map((each) => may(client, namespace, each)))
      return answers.includes(true) ? [] : [alternatives[0]!]
    }),
  )
  const lacking = missing.flat()
  const names = lacking.map(([verb, resource]) => `no permission to ${verb} ${resource}`)
  const rules = lacking.map(([verb, resource]) => {
    const only = resource === 'configmaps' ? `, resourceNames: [${RULES_CONFIG_MAP}]` : ''
    return `{ apiGroups: [""], resources: [${resource}]${only}, verbs: [${verb}] }`
  })
  const fix = `give the user a Role in ${namespace} with rules: [${rules.join(', ')}]`
  return [byProblems('permissions are granted', 'apply, status and stop are allowed', names, fix)]
}

async function may(
  client: KubeClient,
  namespace: string,
  [verb, path]: readonly [string, string],
): Promise<boolean> {
  const [resource, subresource] = path.split('/')
  // A Role may grant this ConfigMap only.
  const name = resource === 'configmaps' ? RULES_CONFIG_MAP : undefined
  const group = 'authorization.k8s.io'
  const response = await client.request({
    method: 'POST',
    path: `/apis/${group}/v1/selfsubjectaccessreviews`,
    body: {
      apiVersion: `${group}/v1`,
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, verb, resource, subresource, name } },
    },
    what: "check the user's permissions",
    ...LIMITS,
  })
  return fieldsOf(fieldsOf(response)['status'])['allowed'] === true
}

async function webhookChecks(client: KubeClient): Promise<readonly Check[]> {
  const check = 'the webhook is installed'
  const configurations = await client.list({ kind: MUTATING_WEBHOOKS }, undefined, LIMITS)
  for (const configuration of configurations) {
    const webhook = listOf(configuration['webhooks']).find(({ name }) => name === WEBHOOK)
    if (webhook === undefined) continue
    const { service, caBundle } = fieldsOf(webhook['clientConfig'])
    return [
      passed(check, metadataOf(configuration).name),
      certificateCheck(Buffer.from(textOf(caBundle) ?? '', 'base64').toString('utf8')),
      ...(await orError('the webhook has ready pods', () => serviceCheck(client, service))),
    ]
  }
  const fix = `install the chart: ${PAGE}; without the webhook, add sidecars to manifests with squall inject`
  return [failed(check, `no webhook ${WEBHOOK}`, fix)]
}

/** Checks the CAs by which the API server trusts the webhook. */
function certificateCheck(pem: string): Check {
  const check = 'the API server trusts the webhook certificate'
  const fix = 'check the webhook logs; with cert-manager, also check the Certificate'
  const ends = (pem.match(/-----BEGIN[^]+?-----END CERTIFICATE-----/g) ?? []).map(endOf)
  if (ends.length === 0) return failed(check, 'the webhook configuration has no CA', fix)
  const last = new Date(Math.max(...ends)).toISOString()
  const isValid = ends.some((end) => end > Date.now())
  return isValid
    ? passed(check, `until ${last}`)
    : failed(check, `the CA certificate expired at ${last}`, fix)
}

async function serviceCheck(client: KubeClient, service: unknown): Promise<readonly Check[]> {
  // A webhook by URL is outside of the cluster.
  if (!isRecord(service)) return []
  const check = 'the webhook has ready pods'
  const [namespace, name] = [textOf(service['namespace']), textOf(service['name'])]
  const found = await client.get({ kind: SERVICES, namespace, name }, LIMITS)
  const selector = selectorText(textsOf(fieldsOf(found['spec'])['selector']))
  const pods = await client.list({ kind: PODS, namespace }, selector, LIMITS)
  const ready = pods.filter(reportsReady)
  const where = `behind the Service ${namespace}/${name}`
  if (ready.length > 0) return [passed(check, `${ready.length} of ${pods.length} ${where}`)]
  const fix = `run kubectl -n ${namespace} describe pods -l ${selector}; once the webhook responds, rollouts continue within minutes, or immediately after kubectl -n NAMESPACE annotate replicasets --all retried-at=now --overwrite`
  return [failed(check, `0 of ${pods.length} ${where} are ready; new pods get no sidecar`, fix)]
}

/** Checks whether the namespace is production; its `fix` says what that prevents. */
async function productionCheck(
  client: KubeClient,
  namespace: string,
  prefix: string,
): Promise<Check> {
  const check = 'the namespace is not production'
  const asked = { patterns: PRODUCTION_NAMES, environmentLabel: 'environment', prefix }
  const one = new Map([[namespace, 1]])
  const { found, trouble } = await findArmedProduction(client, one, asked, LIMITS)
  const [{ why, isAllowed } = { why: undefined, isAllowed: false }] = found
  if (why === undefined) return passed(check, trouble === undefined ? namespace : 'by its name')
  if (isAllowed) return passed(check, `its owner allows faults: ${why}`)
  const fix = `no pod gets a sidecar and no rule acts here, unless the owner annotates the namespace ${prefix}allow-production: "true"`
  return skipped(check, why, fix)
}

async function namespaceChecks(
  client: KubeClient,
  namespace: string,
  options: ClusterOptions,
  forbidden: string | undefined,
): Promise<readonly Check[]> {
  const { selector, prefix, readToken } = options
  const scope = { namespace, selector, prefix, readToken }
  const { reports, servicesTrouble } = await sidecarOverview(client, scope, {})
  if (reports.length === 0) {
    const fix = forbidden ?? `annotate a pod template with ${prefix}inject: "true": ${PAGE}`
    return [skipped('sidecars run', `no pod of ${namespace} has a sidecar`, fix)]
  }
  // A Job that has finished needs no sidecar.
  const silent = problemsOf(reports, ({ trouble, pod }) =>
    pod.sidecar === 'ended' ? undefined : trouble,
  )
  const place = `-n ${namespace}${clusterFlags(options)}`
  const status = `squall status ${place} shows each`
  const hasAsked = reports.some(({ state }) => state !== undefined)
  return [
    byProblems('sidecars run', `${reports.length} in ${namespace}`, silent, status),
    ...sidecarChecks(reports, namespace, servicesTrouble, place).map((each) =>
      each.result === 'passed' && !hasAsked
        ? skipped(each.check, 'no sidecar responded', status)
        : each,
    ),
  ]
}

function sidecarChecks(
  reports: readonly SidecarReport[],
  namespace: string,
  servicesTrouble: string | undefined,
  place: string,
): readonly Check[] {
  const status = `squall status ${place} shows each`
  const of = (test: PodTest): readonly string[] => problemsOf(reports, test)
  const asked = reports.filter(({ state }) => state !== undefined).length
  const count = `${asked} of ${reports.length} in ${namespace}`
  const warned = of(({ warnings }) => (warnings.length === 0 ? undefined : warnings.join(', ')))
  const noWarnings = 'sidecars have no warnings'
  return [
    byProblems(
      'sidecars run the rules in their ConfigMap',
      count,
      of(({ digest }) => (digest === 'other' ? 'runs different rules' : undefined)),
      status,
    ),
    byProblems(
      'sidecar clocks match the API server clock',
      count,
      of(({ clock }) => clock),
      "synchronize the node's clock, for example with chronyc makestep",
    ),
    byProblems(
      'rules may act',
      `armed: ${count}`,
      of(({ state }) => (state === undefined || state.armed ? undefined : armedText(state))),
      `${remedies(reports, place)}; ${status}`,
    ),
    servicesTrouble === undefined || warned.length > 0
      ? byProblems(noWarnings, count, warned, status)
      : skipped(noWarnings, servicesTrouble, 'ask for permission to list services'),
  ]
}

type PodTest = (report: SidecarReport) => string | undefined

function problemsOf(reports: readonly SidecarReport[], test: PodTest): readonly string[] {
  return reports.flatMap((report) => {
    const problem = test(report)
    return problem === undefined ? [] : [`${report.pod.name}: ${problem}`]
  })
}

/** Returns how the rules of sidecars are armed again. */
function remedies(reports: readonly SidecarReport[], place: string): string {
  const by = new Set(reports.flatMap(({ state }) => state?.reasons.map((each) => each.by) ?? []))
  const all = [
    by.has('stopped') ? `end the stop with squall resume ${place}` : undefined,
    by.has('environment') ? 'use a namespace that is not production' : undefined,
    by.has('file') ? 'remove enabled: false from the rules' : undefined,
  ].filter((each) => each !== undefined)
  return all.length === 0 ? 'arm the sidecar again with squall resume -t ADDRESS' : all.join('; ')
}
