import { type Fields, fieldsOf, listOf, textOf } from '#base'
import type { KubeClient } from '../kube/kube-client.ts'
import {
  type Limits,
  metadataOf,
  MUTATING_WEBHOOKS,
  type ObjectRef,
  VALIDATING_WEBHOOKS,
} from '../kube/resources.ts'
import { endOf, splitPem } from './managed-secret.ts'

/** The intended CA bundle of the webhook configuration. */
interface WantedBundle {
  readonly configuration: string
  readonly validating?: string | undefined
  /** PEM of the CAs, the newest first. */
  readonly bundle: readonly string[]
  /** True to keep CAs that others added: a replica may still use one. */
  readonly keepOthers: boolean
  readonly now: number
}

const MAX_CAS = 10
/**
 * The chart's annotation of webhook configurations for the manager of certificates, and its value
 * for Squall.
 */
const MANAGED_BY = 'squall.dev/certificates'
const OWN = 'selfManaged'

/**
 * Publishes CAs in the webhook configurations; returns true when one changed. Throws a conflict
 * when another program changed one meanwhile.
 */
export async function ensureBundle(
  client: KubeClient,
  wanted: WantedBundle,
  limits: Limits,
): Promise<boolean> {
  const { configuration, validating } = wanted
  const refs: ObjectRef[] = [{ kind: MUTATING_WEBHOOKS, name: configuration }]
  if (validating !== undefined) refs.push({ kind: VALIDATING_WEBHOOKS, name: validating })
  let isChanged = false
  for (const ref of refs) isChanged = (await ensureOne(client, ref, wanted, limits)) || isChanged
  return isChanged
}

async function ensureOne(
  client: KubeClient,
  ref: ObjectRef,
  wanted: WantedBundle,
  limits: Limits,
): Promise<boolean> {
  const configuration = await client.get(ref, limits)
  const { resourceVersion, annotations } = metadataOf(configuration)
  // After a change of the mode, other replicas still use other CAs.
  const keepOthers = wanted.keepOthers || (annotations[MANAGED_BY] ?? OWN) !== OWN
  const webhooks = listOf(configuration['webhooks']).flatMap((webhook) =>
    change(webhook, { ...wanted, keepOthers }),
  )
  if (webhooks.length === 0) return false
  // The version makes the API server reject a change of an outdated bundle.
  const body = { metadata: { resourceVersion }, webhooks }
  await client.patch(ref, 'strategic-merge', body, limits)
  return true
}

function change(webhook: Fields, { bundle, keepOthers, now }: WantedBundle): readonly object[] {
  const name = textOf(webhook['name'])
  const config = fieldsOf(webhook['clientConfig'])
  const before = Buffer.from(textOf(config['caBundle']) ?? '', 'base64').toString('utf8')
  const others = splitPem(before).filter((cert) => !bundle.includes(cert) && endOf(cert) > now)
  const after = [...bundle, ...(keepOthers ? others : [])].slice(0, MAX_CAS).join('')
  if (name === undefined || after === before) return []
  return [{ name, clientConfig: { caBundle: Buffer.from(after).toString('base64') } }]
}
