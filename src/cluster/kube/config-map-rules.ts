import { posix } from 'node:path'
import { type Fields, fieldsOf, listOf, textOf, textsOf } from '../../base/values.ts'
import { digestOf, isRulesFileName, type RulesText } from '../../rules/file/rules-file.ts'
import type { RulesConfigMap } from './injected-pod.ts'

/** The keys of a ConfigMap with their contents. */
export type ConfigMapKeys = ReadonlyMap<string, Uint8Array>

/** Selects all keys, as a sidecar without a configured key does. */
export const WHOLE_MOUNT: RulesConfigMap = { configMap: '', key: undefined, path: '', items: [] }

export function configMapKeys(configMap: Fields): ConfigMapKeys {
  const texts = Object.entries(textsOf(configMap['data'])).map(
    ([key, text]) => [key, Buffer.from(text, 'utf8')] as const,
  )
  const binary = Object.entries(textsOf(configMap['binaryData'])).map(
    ([key, text]) => [key, Buffer.from(text, 'base64')] as const,
  )
  return new Map([...texts, ...binary])
}

/** Returns the files that a sidecar finds when these keys are mounted. */
export function mountedTexts(keys: ConfigMapKeys, mount: RulesConfigMap): readonly RulesText[] {
  if (mount.key !== undefined) {
    const bytes = keys.get(mount.key)
    return bytes === undefined ? [] : [{ file: mount.path, bytes }]
  }
  const files =
    mount.items.length === 0
      ? [...keys].map(([key, bytes]) => ({ name: key, bytes }))
      : mount.items.flatMap(({ key, path }) => {
          const bytes = keys.get(key)
          return bytes === undefined ? [] : [{ name: path, bytes }]
        })
  return files
    .filter(({ name }) => isRulesFileName(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, bytes }) => ({ file: posix.join(mount.path, name), bytes }))
}

/**
 * Returns the digest that a sidecar reports for these keys; undefined when there is nothing to
 * read.
 */
export function expectedDigest(keys: ConfigMapKeys, mount: RulesConfigMap): string | undefined {
  const texts = mountedTexts(keys, mount)
  if (mount.key !== undefined && texts.length === 0) return undefined
  return digestOf(mount.key === undefined, texts, [])
}

/** Returns true when a sidecar reads the key. */
export function readsKey(mount: RulesConfigMap, key: string): boolean {
  if (mount.key !== undefined) return mount.key === key
  if (mount.items.length === 0) return isRulesFileName(key)
  return mount.items.some((item) => item.key === key && isRulesFileName(item.path))
}

/** Returns the content of a key. */
export function textBefore(configMap: Fields | undefined, key: string): string | undefined {
  const bytes = configMapKeys(configMap ?? {}).get(key)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8')
}

/** Returns when a key last changed, or else when the ConfigMap was created. */
export function writtenAt(configMap: Fields | undefined, key: string): number | undefined {
  const metadata = fieldsOf(configMap?.['metadata'])
  const times = listOf(metadata['managedFields']).flatMap(({ fieldsV1, time }) => {
    const data = fieldsOf(fieldsOf(fieldsV1)['f:data'])
    return Object.hasOwn(data, `f:${key}`) ? [Date.parse(textOf(time) ?? '')] : []
  })
  const made = Date.parse(textOf(metadata['creationTimestamp']) ?? '')
  const known = [...times, made].filter((at) => Number.isFinite(at))
  return known.length === 0 ? undefined : Math.max(...known)
}
