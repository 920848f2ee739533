import { API, type State } from '#admin-api'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fields, fieldsOf, oneLine, textOf } from '#base'
import { SIDECAR_LABEL } from '../injector/injected-names.ts'
import { digestOf } from '#rules'
import {
  attachContainer,
  ATTACHED_ADMIN_PORT,
  attachedContainers,
  type Attachment,
  detachContainer,
  ephemeralState,
} from './attach-container.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, KubeError, retryConflicts } from './kube-error.ts'
import { metadataOf, type NamedRef, pathOf, PODS } from './resources.ts'
import { ASK_MS, type AskOptions, askSidecar } from './sidecar-api.ts'

interface WaitOptions extends Pick<AskOptions, 'readToken'> {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const POLL_MS = 250
/** Matches reasons of kubelet that waiting rarely resolves. */
const TROUBLES =
  /^(?:ErrImage|ImagePullBackOff|InvalidImageName|CreateContainer.*Error|RunContainerError)/

/**
 * Adds a sidecar to a running pod, by one change that the API server accepts or rejects as a whole.
 * `unlabelled` is the reason why the pod was not labelled.
 */
export async function attachToPod(
  client: KubeClient,
  ref: NamedRef,
  { prefix, ...attachment }: Attachment & { readonly prefix: string },
  { signal }: WaitOptions,
) {
  const pod = await client.get({ kind: PODS, ...ref }, { signal })
  const made = attachContainer(pod, attachment)
  // Before it can act: squall stop finds it by the label.
  const unlabelled = await labelAttached(client, ref, prefix, 'attached', signal)
  try {
    await addContainer(client, ref, made.container, signal)
  } catch (error) {
    const isLabelled = `${prefix}${SIDECAR_LABEL}` in metadataOf(pod).labels
    // After any other error, the container may have been added.
    const isRejected = error instanceof KubeError && (error.status ?? 500) < 500
    if (isRejected && !isLabelled) await unlabelRejected(client, ref, prefix)
    throw error
  }
  return { ...made, unlabelled }
}

/** Removes the label where nothing is attached, also not by somebody else; ignores errors. */
async function unlabelRejected(client: KubeClient, ref: NamedRef, prefix: string): Promise<void> {
  await retryConflicts(async () => {
    const pod = await client.get({ kind: PODS, ...ref })
    if (attachedContainers(pod).length > 0) return
    const { resourceVersion } = metadataOf(pod)
    const labels = { [`${prefix}${SIDECAR_LABEL}`]: null }
    const body = { metadata: { resourceVersion, labels } }
    await client.patch({ kind: PODS, ...ref }, 'merge', body)
  }).catch(asKubeError)
}

/**
 * Labels a pod as one with an attached sidecar, or removes the label. Returns the error, which
 * leaves the sidecar to `squall stop --unlabelled`.
 */
export async function labelAttached(
  client: KubeClient,
  ref: NamedRef,
  prefix: string,
  value: 'attached' | null,
  signal: AbortSignal,
): Promise<KubeError | undefined> {
  const body = { metadata: { labels: { [`${prefix}${SIDECAR_LABEL}`]: value } } }
  return client
    .patch({ kind: PODS, ...ref }, 'merge', body, { signal })
    .then(() => undefined, asKubeError)
}

/** Waits until an attached sidecar has its rules, which it reads once traffic reaches it. */
export async function awaitAttached(
  client: KubeClient,
  ref: NamedRef,
  name: string,
  rulesText: string,
  options: WaitOptions,
): Promise<State> {
  const { timeoutMs, signal } = options
  const digest = digestOf(false, [{ file: name, bytes: Buffer.from(rulesText) }], [])
  const until = performance.now() + timeoutMs
  const pod = { ...ref, adminPort: ATTACHED_ADMIN_PORT }
  let why = 'the sidecar has not started'
  while (performance.now() < until) {
    const state = await containerState(client, ref, name, signal)
    if (state.kind === 'ended')
      throw new KubeError('response', `the sidecar exited: ${state.detail}`)
    why = state.detail
    if (state.kind === 'running') {
      try {
        const reported = await askSidecar(client, pod, API.state, {
          ...options,
          timeoutMs: ASK_MS,
        })
        if (reported.lastReload?.digest === digest) return reported
      } catch (error) {
        if (!(error instanceof KubeError) || error.code === 'forbidden') throw error
        why = error.message
      }
    }
    await sleep(POLL_MS, undefined, { signal })
  }
  throw new KubeError('timeout', `the sidecar was not ready after ${timeoutMs / 1000} s: ${why}`)
}

/**
 * Ends the attached sidecar and waits until no fault acts any more. Returns a note for the user;
 * undefined where nothing is attached.
 */
export async function detachFromPod(
  client: KubeClient,
  ref: NamedRef,
  options: WaitOptions,
): Promise<string | undefined> {
  const { timeoutMs, signal } = options
  const pod = await client.get({ kind: PODS, ...ref }, { signal })
  const [attached] = attachedContainers(pod)
  if (attached === undefined) return undefined
  const name = textOf(attached['name']) ?? ''
  const made = detachContainer(pod, attached)
  await addContainer(client, ref, made.container, signal)
  const until = performance.now() + timeoutMs
  let why = ''
  while (performance.now() < until) {
    const state = await containerState(client, ref, name, signal)
    if (state.kind === 'ended') return state.detail
    const own = await containerState(client, ref, made.name, signal)
    if (own.kind === 'ended' && own.code !== 0) {
      throw new KubeError('response', `the container ${made.name} failed: ${own.detail}`)
    }
    why = own.kind === 'ended' ? `${name} has not exited` : `${made.name}: ${own.detail}`
    if (own.kind === 'ended' && (await isDisarmed(client, ref, options))) {
      return 'detached; open connections close within seconds'
    }
    await sleep(POLL_MS, undefined, { signal })
  }
  throw new KubeError('timeout', `timed out after ${timeoutMs / 1000} s: ${why}`)
}

/** Returns false also where the sidecar cannot be asked. */
async function isDisarmed(
  client: KubeClient,
  ref: NamedRef,
  options: WaitOptions,
): Promise<boolean> {
  const pod = { ...ref, adminPort: ATTACHED_ADMIN_PORT }
  try {
    return !(await askSidecar(client, pod, API.state, { ...options, timeoutMs: ASK_MS })).armed
  } catch (error) {
    asKubeError(error)
    return false
  }
}

async function addContainer(
  client: KubeClient,
  ref: NamedRef,
  container: Fields,
  signal: AbortSignal,
): Promise<void> {
  const what = `attach to pod "${ref.name}" in namespace "${ref.namespace}"`
  try {
    await client.request({
      method: 'PATCH',
      path: `${pathOf({ kind: PODS, ...ref })}/ephemeralcontainers`,
      patch: 'strategic-merge',
      body: { spec: { ephemeralContainers: [container] } },
      what,
      signal,
    })
  } catch (error) {
    const level = /violates PodSecurity "([a-z]+)/.exec((error as Error).message)?.[1]
    if (level !== undefined) throw podSecurityError(level, (error as KubeError).status)
    throw error
  }
}

/** Makes the error for a namespace that lets no container redirect traffic. */
export function podSecurityError(level: string, status?: number): KubeError {
  return new KubeError(
    'forbidden',
    `nothing was attached: the namespace enforces the Pod Security level ${oneLine(level)}, which forbids NET_ADMIN; inject the sidecar in mode port instead, which restarts the pod: squall.dev/inject: "true"`,
    status,
  )
}

async function containerState(
  client: KubeClient,
  ref: NamedRef,
  name: string,
  signal: AbortSignal,
) {
  const pod = await client.get({ kind: PODS, ...ref }, { signal })
  const state = ephemeralState(pod, name)
  if ('terminated' in state) {
    const { exitCode, message, reason } = fieldsOf(state['terminated'])
    const detail = oneLine(textOf(message) ?? textOf(reason) ?? '')
    return { kind: 'ended' as const, code: exitCode, detail }
  }
  if ('running' in state) return { kind: 'running' as const, detail: 'it is running' }
  const { reason, message } = fieldsOf(state['waiting'])
  const detail = oneLine(
    [textOf(reason), textOf(message)].filter(Boolean).join(': ') || 'it is waiting',
  )
  if (TROUBLES.test(textOf(reason) ?? ''))
    throw new KubeError('response', `the container cannot start: ${detail}`)
  return { kind: 'waiting' as const, detail }
}
