import { fieldsOf, textOf } from '../../base/values.ts'
import { oneLine } from '../../base/text/foreign-text.ts'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { createResource, EVENTS, type Limits } from './resources.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const ASK_MS = 1_000

/** Returns the user's name as the API server knows it; undefined where it does not say. */
export async function userName(client: KubeClient, limits: Limits): Promise<string | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  try {
    const response = await client.request({
      method: 'POST',
      path: REVIEWS,
      body: review,
      what: 'ask for the name of the user',
      timeoutMs: ASK_MS,
      ...limits,
    })
    const name = textOf(fieldsOf(fieldsOf(fieldsOf(response)['status'])['userInfo'])['username'])
    return name === undefined ? undefined : oneLine(name)
  } catch (error) {
    if (error instanceof KubeError) return undefined
    throw error
  }
}

/** The object that an event is about. */
export interface EventSubject {
  readonly kind: 'ConfigMap' | 'Pod'
  readonly namespace: string
  readonly name: string
  /** With it `kubectl describe` shows the event. */
  readonly uid?: string | undefined
}

/** An event for people who look at the cluster later. */
export interface AuditEvent {
  readonly reason: string
  readonly message: string
  readonly type?: 'Normal' | 'Warning'
  /** A name of its own, by which it is recorded once as long as the API server keeps it. */
  readonly name?: string
}

/** As much as the API server takes. */
const MAX_MESSAGE = 1_024

/** Records an event; returns what kept it from being recorded. */
export async function recordEvent(
  client: KubeClient,
  subject: EventSubject,
  { reason, message, type = 'Normal', name }: AuditEvent,
  limits: Limits,
): Promise<KubeError | undefined> {
  const { namespace } = subject
  const now = new Date().toISOString()
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { ...(name === undefined ? { generateName: 'squall-' } : { name }), namespace },
    involvedObject: { apiVersion: 'v1', ...subject },
    type,
    reason,
    message: oneLine(message, MAX_MESSAGE),
    source: { component: 'squall' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  }
  try {
    await createResource(client, { kind: EVENTS, namespace }, body, limits)
    return undefined
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    return error.code === 'exists' ? undefined : error
  }
}
