import { asStarted, durationText, plain } from '#base'
import {
  type AttachedContainer,
  attachToPod,
  awaitAttached,
  detachFromPod,
  labelAttached,
  type PodRef,
  podSecurityError,
} from '../kube/attach-pod.ts'
import { armedText } from '../kube/await-rules.ts'
import { recordEvent, userName } from '../kube/audit.ts'
import { metadataOf, PODS } from '../kube/resources.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { KubeError } from '../kube/kube-error.ts'
import { problemLines, problemsJson, type ProductionCheck } from '#rules'
import { invalidFile, readCheckedRules } from '#cli'
import type { ApplyOutput } from './apply.ts'
import {
  type ClusterOptions,
  namespaceLabels,
  rejectProductionNamespace,
  withClient,
} from './cluster-options.ts'

/** The options of `squall detach`. */
interface DetachRequest {
  readonly pod: string
  readonly cluster: ClusterOptions
  readonly timeoutMs: number
  readonly json: boolean
}

/** The options of `squall attach`. */
interface AttachRequest extends DetachRequest {
  readonly file: string
  readonly forMs: number
  readonly port: string | undefined
  readonly image: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never' | undefined
  /** Undefined where production is allowed. */
  readonly production: ProductionCheck | undefined
  readonly environment: string | undefined
  readonly environmentLabel: string
}

const FAILED = 1
/** The text stays in the pod until the pod is deleted. */
const MAX_RULES = 64 * 1024
const ENFORCE = 'pod-security.kubernetes.io/enforce'

/**
 * Runs `squall attach`: adds a sidecar to a running pod, for a limited time; returns the exit code.
 */
export async function attachCommand(
  request: AttachRequest,
  { out, err }: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const text = await attachableRules(request, { out, err })
  if (text === undefined) return FAILED
  return inNamespace(request, async (client, namespace, signal) => {
    const ref = { namespace, name: request.pod }
    await rejectNamespace(client, namespace, request, signal)
    const { timeoutMs, cluster, pod, json } = request
    const wait = { timeoutMs, signal, readToken: cluster.readToken }
    const { image, pullPolicy, port, forMs } = request
    const startBefore = new Date(Date.now() + timeoutMs)
    const attachment = { image, pullPolicy, port, forMs, startBefore, rulesText: text }
    const more = { env: sidecarEnv(request), prefix: cluster.prefix }
    const made = await attachToPod(client, ref, { ...attachment, ...more }, wait)
    const where = `${namespace}/${pod}`
    const undo = asStarted(`squall detach ${pod} -n ${namespace}`)
    const ports = made.ports.map(({ number }) => number)
    const { name: container, probePaths } = made
    const report = { namespace, pod, container, ports, probePaths }
    const notice = (line: string): void => void (json || err.write(`${where}: ${line}\n`))
    notice(`container ${container} added; it ends after ${durationText(forMs)}, or with: ${undo}`)
    for (const line of notesOf(made)) notice(line)
    try {
      const until = new Date(Date.now() + forMs).toISOString().replace(/\.\d+/, '')
      const trouble = await recordAttached(client, ref, 'attached', `, until ${until}`, signal)
      if (trouble !== undefined) notice(`no event was recorded: ${trouble.message}`)
      const state = await awaitAttached(client, ref, container, text, wait)
      const words = `port ${ports.join(', ')}, ${armedText(state)}, until ${until}`
      const { armed, reasons } = state
      out.write(
        json
          ? document({ ok: true, ...report, armed, reasons, until })
          : `attached to ${where}: ${words}\n`,
      )
      return 0
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      const look = `kubectl -n ${namespace} logs ${pod} -c ${container}`
      if (json) out.write(document({ ok: false, ...report, trouble: error.message }))
      notice(`${plain(error.message)}; see ${look}, and end it with ${undo}`)
      return FAILED
    }
  })
}

function notesOf({ unlabelled, probePaths }: AttachedContainer): readonly string[] {
  const paths = probePaths.join(', ')
  return [
    ...(unlabelled ? [`squall stop finds it with --unlabelled only: ${unlabelled.message}`] : []),
    ...(paths === '' ? [] : [`no rule acts on ${paths}, the paths of probes`]),
  ]
}

/** Runs `squall detach`: ends the attached sidecar of a pod; returns the exit code. */
export function detachCommand(
  request: DetachRequest,
  { out, err }: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  return inNamespace(request, async (client, namespace, signal) => {
    const { timeoutMs, pod, cluster, json } = request
    const wait = { timeoutMs, signal, readToken: cluster.readToken }
    const ref = { namespace, name: pod }
    const said = await detachFromPod(client, ref, wait)
    if (said !== undefined) {
      await labelAttached(client, ref, cluster.prefix, null, signal)
      const trouble = await recordAttached(client, ref, 'detached', '', signal)
      if (trouble !== undefined) err.write(`no event was recorded: ${trouble.message}\n`)
    }
    const detail =
      said === undefined ? 'nothing is attached' : said.replace(/^(?!detached)/, 'ended: ')
    const report = { ok: true, namespace, pod, detached: said !== undefined, detail }
    out.write(json ? document(report) : `${namespace}/${pod}: ${plain(detail)}\n`)
    return 0
  })
}

/** Records an event with the user who attached or detached a sidecar; returns the error, if any. */
async function recordAttached(
  client: KubeClient,
  ref: PodRef,
  action: 'attached' | 'detached',
  more: string,
  signal: AbortSignal,
): Promise<KubeError | undefined> {
  const by = (await userName(client, { signal })) ?? 'an unknown user'
  const { uid } = metadataOf(await client.get({ kind: PODS, ...ref }, { signal }))
  const reason = action === 'attached' ? 'SquallAttached' : 'SquallDetached'
  const message = `a sidecar was ${action} by ${by}${more}`
  return recordEvent(client, { kind: 'Pod', ...ref, uid }, { reason, message }, { signal })
}

/** Returns the rules; shows their errors and returns undefined otherwise. */
async function attachableRules(
  { file, json }: AttachRequest,
  { out, err }: ApplyOutput,
): Promise<string | undefined> {
  const { text, problems } = await readCheckedRules(file)
  if (problems.length > 0 && json) out.write(problemsJson(problems))
  else if (problems.length > 0) {
    for (const each of problems) err.write(problemLines(each))
    err.write('nothing was attached; fix the rules first\n')
  }
  if (problems.length > 0) return undefined
  if (Buffer.byteLength(text) > MAX_RULES) {
    const fix = 'write fewer rules, or inject the sidecar, which reads a ConfigMap'
    throw invalidFile('the rules have more than 64KiB', fix)
  }
  return text
}

function document(report: object): string {
  return `${JSON.stringify(report, null, 2)}\n`
}

function inNamespace(
  { cluster }: DetachRequest,
  act: (client: KubeClient, namespace: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  return withClient(cluster, (client, signal) =>
    act(client, cluster.namespace ?? client.namespace, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
      process.stderr.write('stopped; an added container ends by itself\n')
      return FAILED
    }),
  )
}

async function rejectNamespace(
  client: KubeClient,
  namespace: string,
  request: AttachRequest,
  signal: AbortSignal,
): Promise<void> {
  await rejectProductionNamespace(client, namespace, request, signal)
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
    ...(environment !== undefined && { SQUALL_ENVIRONMENT: environment }),
    ...(production === undefined
      ? { SQUALL_ALLOW_PRODUCTION: 'true' }
      : { SQUALL_PRODUCTION_NAMES: production.patterns.join(',') }),
  }
}
