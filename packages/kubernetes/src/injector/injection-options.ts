import { nearestName, quoted } from '#base'
import {
  type AnnotationKey,
  ANNOTATIONS,
  type AnnotationSpec,
  type AnnotationTarget,
} from './annotations.ts'
import { belowCeiling } from './ceilings.ts'
import { INJECTION_LABEL, OUTPUT_KEYS } from './injected-names.ts'
import { Denial, type InjectionContext } from './injection.ts'
import type { Pod } from './pod.ts'

/**
 * The injection options by key: the pod's own value, or else the namespace's, or else the
 * settings'. Limits on rules can only be stricter than those above them.
 */
export type InjectionOptions = ReadonlyMap<AnnotationKey, string>

/** The options with the object that each is from. */
type OptionsBySource = Map<AnnotationKey, { readonly value: string; readonly from: string }>

type Texts = Readonly<Record<string, string>>

const SPECS: ReadonlyMap<string, AnnotationSpec> = new Map(ANNOTATIONS.map((s) => [s.key, s]))

/** Returns true when a pod requests the sidecar; undefined without a request. */
export function isAsked(pod: Pod, prefix: string): boolean | undefined {
  const key = `${prefix}inject`
  const values = [pod.metadata?.annotations?.[key], pod.metadata?.labels?.[key]].filter(
    (value) => value !== undefined,
  )
  for (const value of values) {
    if (value === 'true' || value === 'false') continue
    throw new Denial('invalid_value', `${key} is ${quoted(value)}`, 'use one of true, false')
  }
  return values.length === 0 ? undefined : !values.includes('false')
}

/** Throws a `Denial` for keys that have no meaning on a pod. */
export function rejectUnknownKeys(pod: Pod, prefix: string): void {
  const { annotations, labels } = pod.metadata ?? {}
  for (const key of ownKeys(annotations ?? {}, prefix)) rejectUnknown(key, 'pod', prefix)
  for (const key of ownKeys(labels ?? {}, prefix)) {
    if (key === 'inject' || OUTPUT_KEYS.includes(key)) continue
    rejectUnknown(key, 'pod', prefix)
    const fix = 'use an annotation; only inject is supported as a label'
    throw new Denial('unknown_key', `the label ${prefix}${key} has no effect`, fix)
  }
}

export function readInjectionOptions(
  pod: Pod,
  { namespace, settings }: InjectionContext,
): InjectionOptions {
  const { prefix, defaults } = settings
  const found: OptionsBySource = new Map()
  take(found, defaults, '', 'namespace', 'the settings of the injector')
  const target = `the namespace ${quoted(namespace.name)}`
  take(found, namespace.annotations, prefix, 'namespace', target)
  // Only the owner of the namespace may allow production.
  const allowed = namespace.annotations[`${prefix}allow-production`]
  take(found, pod.metadata?.annotations ?? {}, prefix, 'pod', 'the pod')
  const options = new Map([...found].map(([key, { value }]) => [key, value]))
  options.delete('allow-production')
  if (allowed !== undefined) options.set('allow-production', allowed)
  return options
}

function take(
  options: OptionsBySource,
  texts: Texts,
  prefix: string,
  target: AnnotationTarget,
  who: string,
): void {
  for (const key of ownKeys(texts, prefix)) {
    if (OUTPUT_KEYS.includes(key) || key === INJECTION_LABEL) continue
    rejectUnknown(key, target, prefix, who)
    const given = texts[`${prefix}${key}`] ?? ''
    const wrong = `${prefix}${key} of ${who} is ${quoted(given)}`
    const known = key as AnnotationKey
    const above = options.get(known)
    const fix = checked(key, given)
    if (fix !== undefined) throw new Denial('invalid_value', wrong, fix)
    const value = above === undefined ? given : belowCeiling(known, above.value, given)
    if (value === undefined) {
      const ceiling = `the limit set by ${above?.from} is ${quoted(above?.value ?? '')}`
      throw new Denial('above_ceiling', wrong, `${ceiling}; use a stricter value, or remove it`)
    }
    // Lists grow by those above them.
    const long = checked(key, value)
    if (long !== undefined) throw new Denial('invalid_value', wrong, long)
    options.set(known, { value, from: who })
  }
}

/** Returns the correction of an invalid value; undefined for a valid one. */
export function checked(key: string, value: string): string | undefined {
  if (value === '') return 'set a value, or remove the key'
  return SPECS.get(key)?.check(value)
}

function ownKeys(texts: Texts, prefix: string): readonly string[] {
  return Object.keys(texts)
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
}

function rejectUnknown(
  key: string,
  target: AnnotationTarget,
  prefix: string,
  who = 'the pod',
): void {
  const spec = SPECS.get(key)
  if (OUTPUT_KEYS.includes(key) || spec?.targets.includes(target) === true) return
  if (spec !== undefined) {
    const other = target === 'pod' ? 'namespace' : 'pod template'
    const wrong = `${prefix}${key} has no effect on ${who}`
    throw new Denial('unknown_key', wrong, `set it on the ${other}`)
  }
  const known = ANNOTATIONS.filter(({ targets }) => targets.includes(target))
  const nearest = nearestName(
    key,
    known.map((each) => each.key),
  )
  const hint = nearest === undefined ? '' : `did you mean ${prefix}${nearest}? `
  throw new Denial(
    'unknown_key',
    `unknown key ${quoted(`${prefix}${key}`)} on ${who}`,
    `${hint}known keys: ${known.map((each) => each.key).join(', ')}`,
  )
}
