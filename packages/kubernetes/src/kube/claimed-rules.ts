import { type Fields, fieldsOf, foreign, parsedJson, sha256Of, textOf, textsOf } from '#base'
import { budgetAnnotation } from './budget.ts'
import { changeConfigMap, textBefore } from './config-map-rules.ts'
import type { KubeClient } from './kube-client.ts'
import { isKubeError, retryConflicts } from './kube-error.ts'
import { CONFIG_MAPS, type Limits, metadataOf } from './resources.ts'

/** The key of a ConfigMap that an experiment replaces. */
export interface ClaimedKey {
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  /** The prefix of the annotation that holds the claim. */
  readonly prefix: string
  /** Notes that the cluster has a budget, for later without it. */
  readonly seesBudget?: boolean
}

/** The claim of an experiment on a ConfigMap. */
export interface Claim {
  readonly id: string
  readonly by: string
  /** The time at which the claim expires unless the experiment renews it. */
  readonly until: string
  readonly key: string
  /** The digest of the text that the experiment wrote last; others are of other programs. */
  readonly digest: string
}

/** The content of a claimed key before the claim. */
interface Backup {
  /** Null when there was no such key. */
  readonly text: string | null
  /** False when there was no ConfigMap. */
  readonly existed: boolean
}

/** Reports that a ConfigMap is no longer as the experiment wrote it. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError'
}

/** The key with the backup; sidecars read it as no rules, because its name has no `.yaml`. */
export const BACKUP_KEY = 'squall-experiment-backup'

export function claimOf(configMap: Fields | undefined, prefix: string): Claim | undefined {
  const text = metadataOf(configMap ?? {}).annotations[annotationOf({ prefix })]
  const fields = textsOf(parsedJson(text ?? ''))
  const { id, by, until, key, digest } = fields
  if (!id || !by || !until || !key || !digest) return undefined
  return { id, by, until, key, digest }
}

/** Returns the claim of an experiment that renews it, by the time of the API server. */
export function runningClaim(
  configMap: Fields | undefined,
  prefix: string,
  now: number,
): Claim | undefined {
  const claim = claimOf(configMap, prefix)
  return claim === undefined || Date.parse(claim.until) < now ? undefined : claim
}

export function claimText({ id, by, until }: Claim): string {
  return `the experiment ${foreign(id)} of ${foreign(by)} has claimed the ConfigMap until ${foreign(until)}, and renews the claim while it runs`
}

/** Reads a ConfigMap; undefined where it does not exist. */
export function findConfigMap(
  client: KubeClient,
  target: ClaimedKey,
  limits: Limits,
): Promise<Fields | undefined> {
  return client.find(refOf(target), limits)
}

/**
 * Writes rules, the claim and, with `first`, the backup of the previous content in one change.
 * `first` has the text that the first write replaces. Throws a `ClaimLostError` when another
 * program has changed the key or the claim.
 */
export function writeClaimed(
  client: KubeClient,
  target: ClaimedKey,
  {
    claim,
    text,
    first,
  }: {
    readonly claim: Pick<Claim, 'id' | 'by' | 'until'>
    readonly text: string
    readonly first: { readonly before: string | undefined } | undefined
  },
  limits: Limits,
): Promise<Fields> {
  const { namespace, configMap: name, key } = target
  return retryConflicts(async () => {
    const found = await findConfigMap(client, target, limits)
    const held = claimOf(found, target.prefix)
    const isFirst =
      first !== undefined && held === undefined && textBefore(found, key) === first.before
    if (!isFirst && !(held?.id === claim.id && isUnchanged(found, held))) {
      throw new ClaimLostError(`the key ${key} of the ConfigMap ${name} was changed`)
    }
    const whole: Claim = { ...claim, key, digest: sha256Of(text) }
    const backup: Backup = { text: first?.before ?? null, existed: found !== undefined }
    const annotations = {
      [annotationOf(target)]: JSON.stringify(whole),
      ...(target.seesBudget === true && { [budgetAnnotation(target.prefix)]: 'seen' }),
    }
    const data = { [key]: text, ...(isFirst && { [BACKUP_KEY]: JSON.stringify(backup) }) }
    return changeConfigMap(client, { namespace, name }, found, { annotations, data }, limits)
  })
}

/**
 * Restores the content before the claim, and removes the claim. Content of another program stays:
 * the result is `changed` then. Restores nothing when the claim is that of another experiment.
 */
export function restoreClaimed(
  client: KubeClient,
  target: ClaimedKey,
  id: string,
  limits: Limits,
): Promise<'restored' | 'changed' | 'gone'> {
  return retryConflicts(async () => {
    const found = await findConfigMap(client, target, limits)
    const claim = claimOf(found, target.prefix)
    if (found === undefined || claim?.id !== id) return 'gone'
    const backup = backupOf(found)
    const isOurs = backup !== undefined && isUnchanged(found, claim)
    const { resourceVersion } = metadataOf(found)
    const annotations = { [annotationOf(target)]: null }
    const keys = Object.keys({ ...fieldsOf(found['data']), ...fieldsOf(found['binaryData']) })
    const isOnlyOurs = keys.every((key) => key === claim.key || key === BACKUP_KEY)
    if (isOurs && !backup.existed && isOnlyOurs && resourceVersion !== undefined) {
      await client.delete(refOf(target), limits, { preconditions: { resourceVersion } })
      return 'restored'
    }
    const data = { [BACKUP_KEY]: null, ...(isOurs && { [claim.key]: backup.text }) }
    try {
      await changeConfigMap(client, refOf(target), found, { annotations, data }, limits)
    } catch (error) {
      if (!isKubeError(error, 'not_found')) throw error
      return 'gone'
    }
    return isOurs ? 'restored' : 'changed'
  })
}

function isUnchanged(configMap: Fields | undefined, claim: Claim): boolean {
  const text = textBefore(configMap, claim.key)
  return text !== undefined && sha256Of(text) === claim.digest
}

function backupOf(configMap: Fields): Backup | undefined {
  const text = textOf(fieldsOf(configMap['data'])[BACKUP_KEY])
  const { text: before, existed } = fieldsOf(parsedJson(text ?? ''))
  if (typeof existed !== 'boolean' || (before !== null && typeof before !== 'string')) {
    return undefined
  }
  return { text: before, existed }
}

export function restoredText(backup: string | undefined): unknown {
  return fieldsOf(parsedJson(backup ?? ''))['text']
}

function annotationOf({ prefix }: Pick<ClaimedKey, 'prefix'>): string {
  return `${prefix}experiment`
}

function refOf({ namespace, configMap }: ClaimedKey) {
  return { kind: CONFIG_MAPS, namespace, name: configMap }
}
