import { fieldsOf, isRecord, textOf } from '../../base/values.ts'
import type { Item } from './entry.ts'
import { aside, type Field, to } from './fields.ts'

const NOT_ABOUT_FAULTS = aside('unrelated to faults')

/** Declares the fields of every Kubernetes object beside its `spec`. */
export const MANIFEST_FIELDS = {
  apiVersion: NOT_ABOUT_FAULTS,
  kind: NOT_ABOUT_FAULTS,
  metadata: to('its `name` begins the names of the rules'),
  status: NOT_ABOUT_FAULTS,
} satisfies Readonly<Record<string, Field>>

/** Returns the objects of a kind: the document itself, or items of a `List`. */
export function manifestsOf(document: unknown, kind: string): readonly Item[] {
  if (!isRecord(document)) return []
  if (document['kind'] === kind) return [{ value: document, path: [] }]
  const items: unknown = document['items']
  if (!Array.isArray(items)) return []
  return items.flatMap((value: unknown, index) =>
    isRecord(value) && value['kind'] === kind ? [{ value, path: ['items', index] }] : [],
  )
}

/** Returns the name in the metadata of an object. */
export function nameOf(metadata: unknown, fallback: string): string {
  return textOf(fieldsOf(metadata)['name']) ?? fallback
}
