import { stringify } from 'yaml'
import { isRecord } from '#base'
import { jsonPatch } from '../injector/json-patch.ts'
import { editDocument } from './edit-document.ts'
import { type ManifestDocument, readManifest } from './manifest.ts'
import { type KubeObject, objectsOf, podOf, type PodTemplate } from './pod-templates.ts'

/** The output format; undefined for the format of the input. */
export type ManifestFormat = 'yaml' | 'json' | undefined

/** The documents of a file, each with the objects in it. */
export interface ManifestFile {
  readonly documents: readonly (ManifestDocument & { readonly objects: readonly KubeObject[] })[]
}

/** Reads the documents of a file. Throws `ManifestError`. */
export function readFile(file: string, text: string): ManifestFile {
  // Some editors put a byte order mark in front, which does not belong to the text.
  const documents = readManifest(text.replace(/^\uFEFF/, ''), file)
  return { documents: documents.map((each) => ({ ...each, objects: objectsOf(each.value) })) }
}

/**
 * The text of manifests after a change to the pods in them. `change` returns the changed pod, or the
 * same value.
 */
export function changeManifests(
  files: readonly ManifestFile[],
  change: (template: PodTemplate) => unknown,
  format: ManifestFormat,
): string {
  const changed = files.map(({ documents }) =>
    documents.map((document) => {
      let value = document.value
      for (const object of document.objects) {
        const template = podOf(object)
        if (template === undefined) continue
        value = withValue(value, template.path, change(template))
      }
      return { document, value }
    }),
  )
  if (format === 'json') return asJson(changed.flat().map(({ value }) => value))
  let text = ''
  for (const documents of changed) {
    for (const { document, value } of documents)
      text = appended(text, textOf(document, value, format))
  }
  return text
}

function textOf(document: ManifestDocument, value: unknown, format: ManifestFormat): string {
  if (format === 'yaml' && document.isJson) {
    return document.marker + stringify(value, { version: '1.1', lineWidth: 0 })
  }
  const patch = jsonPatch(document.value, value)
  return patch.length === 0 ? document.text : editDocument(document, patch, value)
}

/** Files need not begin with dashes, nor end with a line break. */
function appended(before: string, text: string): string {
  if (before === '' || text === '') return before + text
  const end = before.endsWith('\n') ? '' : '\n'
  return before + end + (text.startsWith('---') ? '' : '---\n') + text
}

function asJson(values: readonly unknown[]): string {
  const items = values.filter((value) => value !== undefined)
  const one = items.length === 1 ? items[0] : { apiVersion: 'v1', kind: 'List', items }
  return `${JSON.stringify(one, null, 2)}\n`
}

/** Returns the value with the part at `path` replaced; unchanged parts are shared. */
function withValue(value: unknown, path: readonly (string | number)[], fresh: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return fresh
  if (Array.isArray(value)) {
    return value.map((each: unknown, i) => (i === key ? withValue(each, rest, fresh) : each))
  }
  if (!isRecord(value)) return value
  return { ...value, [key]: withValue(value[key], rest, fresh) }
}
