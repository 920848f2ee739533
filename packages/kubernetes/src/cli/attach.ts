import { asInvoked, durationText, plain } from '#base'
import {
  attachToPod,
  awaitAttached,
  detachFromPod,
  labelAttached,
  podSecurityError,
} from '../kube/attach-pod.ts'
import { armedText } from '../kube/await-rules.ts'
import { recordAttached, userName } from '../kube/audit.ts'
import { metadataOf, type NamedRef, PODS } from '../kube/resources.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { KubeError } from '../kube/kube-error.ts'
import { invalidFile, readCheckedRules, rejectProduction } from '#cli'
import { containerEnvironments } from '../injector/gatekeeper.ts'
import { RULES_CONFIG_MAP } from '../injector/injected-names.ts'
import type { Pod } from '../injector/pod.ts'
import {
  clusterFlags,
  kubectlFlags,
  namespaceLabels,
  rejectOverBudget,
  rejectProductionNamespace,
  sawBudgetIn,
} from './cluster-options.ts'
import type { AttachRequest } from '../commands/attach.ts'
import { FAILED, inNamespace, jsonText, rejectedRules, type Rollout } from './rollout.ts'

/** The text stays in the pod until the pod is deleted. */
const MAX_RULES = 64 * 1024
const ENFORCE = 'pod-security.kubernetes.io/enforce'
const ENDING = 'the added container exits by itself'

/**
 * Runs `squall attach`: adds a sidecar to a running pod, for a limited time, or ends it; returns the
 * exit code.
 */
export async function attachCommand(request: AttachRequest): Promise<number> {
  if (request.filename === undefined) return detach(request)
  const output = { out: process.stdout, err: process.stderr }
  const { text, problems } = await readCheckedRules(request.filename)
  if (problems.length > 0) return rejectedRules(problems, request.json, output, 'attached')
  if (Buffer.byteLength(text) > MAX_RULES) {
    const fix = 'use fewer rules, or inject the sidecar, which reads a ConfigMap'
    throw invalidFile('the rules must not exceed 64KiB', fix)
  }
  return inNamespace(request, ENDING, async (client, namespace, signal) => {
    await rejectNamespace(client, namespace, request, signal)
    return attach(request, { client, output, signal }, namespace, text)
  })
}

async function attach(
  request: AttachRequest,
  { client, output, signal }: Pick<Rollout, 'client' | 'output' | 'signal'>,
  namespace: string,
  text: string,
): Promise<number> {
  const { timeout: timeoutMs, cluster, pod, json, image, port, for: forMs } = request
  const pullPolicy = request.imagePullPolicy
  const ref = { namespace, name: pod }
  const wait = { timeoutMs, signal, readToken: cluster.readToken }
  const startBefore = new Date(Date.now() + timeoutMs)
  const attachment = { image, pullPolicy, port, forMs, startBefore, rulesText: text }
  const { production } = request
  const reject = (found: Pod): void =>
    rejectProduction(production && { ...production, names: [] }, containerEnvironments(found))
  const more = { env: sidecarEnv(request), prefix: cluster.prefix, rejectProduction: reject }
  const made = await attachToPod(client, ref, { ...attachment, ...more }, wait)
  const where = `${namespace}/${pod}`
  const undo = asInvoked(`squall attach --undo ${pod} -n ${namespace}${clusterFlags(cluster)}`)
  const ports = made.ports.map(({ number }) => number)
  const { name: container, probePaths } = made
  const report = { namespace, pod, container, ports, probePaths }
  const notice = (line: string): void => void (json || output.err.write(`${where}: ${line}\n`))
  notice(`container ${container} added; it exits after ${durationText(forMs)}, or with: ${undo}`)
  if (made.unlabelled !== undefined) {
    notice(`only squall stop --unlabelled finds it: ${made.unlabelled.message}`)
  }
  if (probePaths.length > 0) {
    notice(`no rule acts on the probe paths ${probePaths.join(', ')}`)
  }
  try {
    const last = endOf(startBefore.getTime() + forMs)
    const trouble = await record(client, ref, 'attached', `, until ${last}`, signal)
    if (trouble !== undefined) notice(`the event was not recorded: ${trouble.message}`)
    const state = await awaitAttached(client, ref, container, text, wait)
    const until = endOf(Date.now() + forMs)
    const { armed, reasons } = state
    const words = `port ${ports.join(', ')}, ${armedText(state)}, until ${until}`
    const shown = json ? jsonText({ ok: true, ...report, armed, reasons, until }) : undefined
    output.out.write(shown ?? `attached to ${where}: ${words}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    const look = `kubectl -n ${namespace}${kubectlFlags(cluster)} logs ${pod} -c ${container}`
    if (json) output.out.write(jsonText({ ok: false, ...report, trouble: error.message }))
    notice(`${plain(error.message)}; check the log with ${look}, and detach with ${undo}`)
    return FAILED
  }
}

/** Returns the time without milliseconds. */
function endOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '')
}

/** Runs `squall attach --undo`: ends the attached sidecar of a pod; returns the exit code. */
function detach(request: AttachRequest): Promise<number> {
  const output = { out: process.stdout, err: process.stderr }
  return inNamespace(request, ENDING, async (client, namespace, signal) => {
    const { timeout: timeoutMs, pod, cluster, json } = request
    const wait = { timeoutMs, signal, readToken: cluster.readToken }
    const ref = { namespace, name: pod }
    const said = await detachFromPod(client, ref, wait)
    if (said !== undefined) {
      await labelAttached(client, ref, cluster.prefix, null, signal)
      const trouble = await record(client, ref, 'detached', '', signal)
      if (trouble !== undefined)
        output.err.write(`the event was not recorded: ${trouble.message}\n`)
    }
    const detail =
      said === undefined ? 'no sidecar is attached' : said.replace(/^(?!detached)/, 'ended: ')
    const report = { ok: true, namespace, pod, detached: said !== undefined, detail }
    output.out.write(json ? jsonText(report) : `${namespace}/${pod}: ${plain(detail)}\n`)
    return 0
  })
}

/** Records an event with the user who attached or detached a sidecar; returns the error, if any. */
async function record(
  client: KubeClient,
  ref: NamedRef,
  action: 'attached' | 'detached',
  more: string,
  signal: AbortSignal,
): Promise<KubeError | undefined> {
  const by = (await userName(client, { signal })) ?? 'an unknown user'
  const { uid } = metadataOf(await client.get({ kind: PODS, ...ref }, { signal }))
  return recordAttached(client, { ...ref, uid }, action, `${by}${more}`, { signal })
}

async function rejectNamespace(
  client: KubeClient,
  namespace: string,
  request: AttachRequest,
  signal: AbortSignal,
): Promise<void> {
  await rejectProductionNamespace(client, namespace, request, signal)
  const { prefix } = request.cluster
  // The ConfigMap notes the budget; the pod need not read it.
  const rules = { namespace, name: RULES_CONFIG_MAP }
  const wasSeen = await sawBudgetIn(client, [rules], prefix, signal)
  const chaos = { namespace, prefix, wasSeen }
  await rejectOverBudget(client, request.budget, chaos, signal)
  const labels = (await namespaceLabels(client, namespace, signal)) ?? {}
  const disabled = `${request.cluster.prefix}injection`
  if (labels[disabled] === 'disabled' || namespace.startsWith('kube-')) {
    const why = `the namespace ${namespace} does not allow sidecars`
    throw new KubeError('invalid', `nothing was attached: ${why} (${disabled}=disabled, or kube-*)`)
  }
  const level = labels[ENFORCE] ?? 'privileged'
  if (level !== 'privileged' && level !== '') throw podSecurityError(level)
}

/** Passes the names that mean production on to the sidecar. */
function sidecarEnv({ production, environment }: AttachRequest): Readonly<Record<string, string>> {
  return {
    ...(environment !== undefined && { SQUALL_ENVIRONMENT: environment.text }),
    ...(production === undefined
      ? { SQUALL_ALLOW_PRODUCTION: 'true' }
      : { SQUALL_PRODUCTION_NAMES: production.patterns.join(',') }),
  }
}
