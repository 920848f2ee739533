import { type Fields, fieldsOf, listOf, textOf } from '../../base/values.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import {
  type Limits,
  metadataOf,
  MUTATING_WEBHOOKS,
  type ObjectRef,
  VALIDATING_WEBHOOKS,
} from '../kube/resources.ts'
import { endOf, splitPem } from './managed-secret.ts'

/** The CA bundle that the webhook configuration should have. */
export interface WantedBundle {
  /** Name of the MutatingWebhookConfiguration. */
  readonly configuration: string
  /** Name of the ValidatingWebhookConfiguration, where there is one. */
  readonly validating?: string | undefined
  /** PEM of the authorities, the newest first. */
  readonly bundle: readonly string[]
  /** True to keep CAs that others added: a replica may still use one. */
  readonly keepOthers: boolean
  readonly now: number
}

const MAX_AUTHORITIES = 10
/** Value of that annotation where it is the webhook itself. */
const OWN = 'selfManaged'

/** Annotation of webhook configurations, by the chart: who manages the certificates from now on. */
const MANAGED_BY = 'squall.dev/certificates'

/**
 * Makes the webhook configurations trust these authorities; true when one had to be changed. Throws a
 * conflict when somebody else changed it meanwhile.
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
  // After a change of the mode others serve with other certificates: take nothing away from them.
  const keepOthers = wanted.keepOthers || (annotations[MANAGED_BY] ?? OWN) !== OWN
  const webhooks = listOf(configuration['webhooks']).flatMap((webhook) =>
    change(webhook, { ...wanted, keepOthers }),
  )
  if (webhooks.length === 0) return false
  // With a version the change is refused when it was made from something old.
  const body = { metadata: { resourceVersion }, webhooks }
  await client.patch(ref, 'strategic-merge', body, limits)
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
