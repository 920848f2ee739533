import { type Fields, fieldsOf, listOf, textOf } from '../kube/json-shape.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import {
  getResource,
  type Limits,
  metadataOf,
  MUTATING_WEBHOOKS,
  patchResource,
} from '../kube/resources.ts'
import { endOf, splitPem } from './managed-secret.ts'

/** What the webhook configuration is to trust. */
export interface WantedBundle {
  /** Name of the MutatingWebhookConfiguration. */
  readonly configuration: string
  /** PEM of the authorities, the newest first. */
  readonly bundle: readonly string[]
  /** Whether authorities that somebody else put there stay: a replica may still use one. */
  readonly keepOthers: boolean
  readonly now: number
}

const MAX_AUTHORITIES = 10

/**
 * Makes the webhook configuration trust these authorities; true when it had to be changed. Throws a
 * conflict when somebody else changed it meanwhile.
 */
export async function ensureBundle(
  client: KubeClient,
  wanted: WantedBundle,
  limits: Limits,
): Promise<boolean> {
  const place = { kind: MUTATING_WEBHOOKS, name: wanted.configuration }
  const configuration = await getResource(client, place, limits)
  const { resourceVersion } = metadataOf(configuration)
  const webhooks = listOf(configuration['webhooks']).flatMap((webhook) => change(webhook, wanted))
  if (webhooks.length === 0) return false
  // With a version the change is refused when it was made from something old.
  const body = { metadata: { resourceVersion }, webhooks }
  await patchResource(client, place, 'strategic-merge', body, limits)
  return true
}

function change(webhook: Fields, { bundle, keepOthers, now }: WantedBundle): readonly object[] {
  const name = textOf(webhook['name'])
  const config = fieldsOf(webhook['clientConfig'])
  const before = Buffer.from(textOf(config['caBundle']) ?? '', 'base64').toString('utf8')
  const others = splitPem(before).filter((cert) => !bundle.includes(cert) && endOf(cert) > now)
  const after = [...bundle, ...(keepOthers ? others : [])].slice(0, MAX_AUTHORITIES).join('')
  if (name === undefined || after === before) return []
  return [{ name, clientConfig: { caBundle: Buffer.from(after).toString('base64') } }]
}
