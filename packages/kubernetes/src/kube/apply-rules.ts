import { type Fields, fieldsOf } from '#base'
import { type FileProblems, foundTexts, parseFound, type RulesVersion } from '#rules'
import { ALL_KEYS, RULES_LABEL, SEPARATE_KEYS } from './rules-label.ts'
import { budgetAnnotation } from './budget.ts'
import {
  WHOLE_MOUNT,
  changeConfigMap,
  type ConfigMapKeys,
  configMapKeys,
  lastChange,
  expectedDigest,
  mountedTexts,
  readsKey,
  textBefore,
} from './config-map-rules.ts'
import { inParallel } from './in-parallel.ts'
import { type InjectedPod, listInjectedPods, type RulesConfigMap } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError, KubeError } from './kube-error.ts'
import { CONFIG_MAPS, type Limits, metadataOf, PODS } from './resources.ts'
import type { PodTarget } from './targets.ts'

/** The rules, and the ConfigMap that they are written to. */
export interface RulesTarget {
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  readonly text: string
  readonly prefix: string
  /** The user's name as the API server knows it. */
  readonly by?: string | undefined
  /** Notes that the cluster has a budget, for later without it. */
  readonly seesBudget?: boolean
}

/** A pod, and the digest that its sidecar should report. */
export interface AwaitedPod {
  readonly pod: InjectedPod
  /** Undefined when its sidecar does not read the key. Changes with the other keys. */
  digest: string | undefined
  /** False when no rule is for it, and none was before. */
  readonly isReached: boolean
}

/** A ConfigMap after it was written. */
export interface WrittenRules {
  readonly change: 'created' | 'changed' | 'unchanged'
  readonly kept: Fields
}

/** Reports that the ConfigMap with the new rules would be invalid as a whole. */
export class MergedRulesError extends Error {
  override readonly name = 'MergedRulesError'
  readonly problems: readonly FileProblems[]

  constructor(problems: readonly FileProblems[]) {
    super('the rules conflict with the other keys of the ConfigMap')
    this.problems = problems
  }
}

/** Lists the pods whose sidecars read a ConfigMap, whether they run or not. */
export async function podsWithRules(
  client: KubeClient,
  { namespace, configMap, prefix }: Pick<RulesTarget, 'namespace' | 'configMap' | 'prefix'>,
  unlabelled: boolean,
  limits: Limits,
): Promise<readonly InjectedPod[]> {
  const scope = { namespace, selector: undefined, prefix, unlabelled }
  const pods = await listInjectedPods(client, scope, limits)
  return pods.filter(({ rules }) => rules?.configMap === configMap)
}

/**
 * Returns the keys with the new rules among them. Throws where a sidecar that reads all keys would
 * reject them together.
 */
export function mergedKeys(
  before: Fields | undefined,
  target: RulesTarget,
  targets: readonly PodTarget[],
): ConfigMapKeys {
  const keys = keysWith(before, target)
  const mounts = new Map(targets.map(({ pod: { rules } }) => [JSON.stringify(rules), rules]))
  for (const mount of mounts.values()) {
    if (mount === undefined || mount.key !== undefined) continue
    const version = parseKeys(keys, mount)
    if (version.kind === 'rejected') throw new MergedRulesError(version.problems)
  }
  return keys
}

/** Returns the digest that each sidecar reports once it has read these keys. */
export function awaitedPods(
  keys: ConfigMapKeys,
  key: string,
  targets: readonly PodTarget[],
): readonly AwaitedPod[] {
  return targets.map(({ pod, isReached }) => {
    const { rules } = pod
    const reads = rules !== undefined && readsKey(rules, key)
    return { pod, digest: reads ? expectedDigest(keys, rules) : undefined, isReached }
  })
}

/**
 * Writes the rules into their key of the ConfigMap and leaves the other keys alone. The result has
 * the ConfigMap as the API server keeps it: a webhook may have changed other keys, too. Throws a
 * `KubeError`: `conflict` or `exists` when another client has changed anything but the key since
 * `before`, otherwise who changed it.
 */
export async function writeConfigMap(
  client: KubeClient,
  target: RulesTarget,
  before: Fields | undefined,
  limits: Limits,
): Promise<WrittenRules> {
  try {
    return await writeKey(client, target, before, limits)
  } catch (error) {
    if (!isKubeError(error, 'conflict', 'exists')) throw error
    const { namespace, configMap: name, key, text, prefix } = target
    const kept = await client.find({ kind: CONFIG_MAPS, namespace, name }, limits)
    const now = textBefore(kept, key)
    // The response to the first attempt was lost.
    if (kept !== undefined && now === text) return { change: 'changed', kept }
    if (now === textBefore(before, key)) throw error
    const first = `the key ${key} of the ConfigMap ${name} changed while the command was running, ${lastChange(kept, key, prefix)}`
    throw new KubeError(
      'response',
      `${first}; no rules were applied; check the ConfigMap and run the command again`,
    )
  }
}

async function writeKey(
  client: KubeClient,
  target: RulesTarget,
  before: Fields | undefined,
  limits: Limits,
): Promise<WrittenRules> {
  const { namespace, configMap, key, text, prefix, by, seesBudget } = target
  if (before !== undefined && fieldsOf(before['data'])[key] === text) {
    return { change: 'unchanged', kept: before }
  }
  const label = `${prefix}${RULES_LABEL}`
  const known = metadataOf(before ?? {}).labels[label]
  const labels = { [label]: before === undefined ? ALL_KEYS : (known ?? labelFor(before, target)) }
  const annotations = {
    ...(by !== undefined && { [`${prefix}applied-by`]: by }),
    ...(seesBudget === true && { [budgetAnnotation(prefix)]: 'seen' }),
  }
  const change = { labels, annotations, data: { [key]: text } }
  const kept = await changeConfigMap(client, { namespace, name: configMap }, before, change, limits)
  return { change: before === undefined ? 'created' : 'changed', kept }
}

/**
 * Returns the label that makes the webhook check the keys together, unless together they are
 * invalid.
 */
function labelFor(before: Fields, target: RulesTarget): string {
  const { kind } = parseKeys(keysWith(before, target), WHOLE_MOUNT)
  return kind === 'rejected' ? SEPARATE_KEYS : ALL_KEYS
}

function keysWith(before: Fields | undefined, { key, text }: RulesTarget): ConfigMapKeys {
  return new Map(configMapKeys(before ?? {})).set(key, Buffer.from(text, 'utf8'))
}

function parseKeys(keys: ConfigMapKeys, mount: RulesConfigMap): RulesVersion {
  return parseFound(foundTexts(mountedTexts(keys, mount), true))
}

/** Makes the kubelet read the ConfigMap at once, until an abort. Returns the errors. */
export async function touchPods(
  client: KubeClient,
  pods: readonly InjectedPod[],
  prefix: string,
  at: Date,
  limits: Limits,
): Promise<readonly KubeError[]> {
  const annotations = { [`${prefix}rules-touched`]: at.toISOString() }
  const troubles: KubeError[] = []
  await inParallel(pods, async ({ namespace, name }) => {
    if (limits.signal?.aborted) return
    const ref = { kind: PODS, namespace, name }
    await client.patch(ref, 'merge', { metadata: { annotations } }, limits).catch((error) => {
      // A deleted pod needs no rules.
      if (isKubeError(error, 'not_found') || limits.signal?.aborted) return
      troubles.push(asKubeError(error))
    })
  })
  return troubles
}
