import { fieldsOf, isRecord, textOf } from '../../base/values.ts'
import type { YamlDocument } from '../file/yaml-document.ts'
import type { Item } from './report.ts'
import { aside, type Field, to } from './fields.ts'

const NOT_ABOUT_FAULTS = aside('unrelated to faults')

/** Declares the fields of every Kubernetes object beside its `spec`. */
export const MANIFEST_FIELDS = {
  apiVersion: NOT_ABOUT_FAULTS,
  kind: NOT_ABOUT_FAULTS,
  metadata: to('prefix of rule names'),
  status: NOT_ABOUT_FAULTS,
} satisfies Readonly<Record<string, Field>>

/** Takes documents for a `List` of objects; undefined if one is not an object of Kubernetes. */
export function listOf(documents: YamlDocument): YamlDocument | undefined {
  const { value: items, problems } = documents
  if (problems.length > 0) return documents
  if (!Array.isArray(items) || !items.every(isManifest)) return undefined
  return {
    problems,
    value: { kind: 'List', items },
    // Without the key `items`, which is not in the text.
    position: ([, ...path], atKey) => documents.position(path, atKey),
  }
}

function isManifest(value: unknown): boolean {
  return isRecord(value) && typeof value['kind'] === 'string'
}

/** Returns the items of a `List`, or none. */
export function itemsOf(document: unknown): readonly Item[] {
  const items: unknown = fieldsOf(document)['items']
  if (!Array.isArray(items)) return []
  return items.map((value: unknown, index) => ({ value, path: ['items', index] }))
}

/** Returns the objects of a kind: the document itself, or items of a `List`. */
export function manifestsOf(document: unknown, kind: string): readonly Item[] {
  if (!isRecord(document)) return []
  if (document['kind'] === kind) return [{ value: document, path: [] }]
  return itemsOf(document).filter(({ value }) => fieldsOf(value)['kind'] === kind)
}

/** Returns the name in the metadata of an object. */
export function nameOf(metadata: unknown, fallback: string): string {
  return textOf(fieldsOf(metadata)['name']) ?? fallback
}
