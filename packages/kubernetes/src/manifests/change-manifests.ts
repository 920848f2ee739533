import { stringify, type Document, isMap, isSeq, type Node, visit } from 'yaml'
import { isRecord, parsePointer, pointerTo, sameJson } from '#base'
import { jsonPatch, type PatchOperation } from '../injector/json-patch.ts'
import { type ManifestDocument, editable } from './manifest.ts'
import { type KubeObject, podOf, type PodTemplate } from './pod-templates.ts'
import { commonPairs } from '../injector/common-pairs.ts'

/** The output format; undefined for the format of the input. */
export type ManifestFormat = 'yaml' | 'json' | undefined

/**
 * The text of manifests after a change to the pods in them. `change` returns the changed pod, or the
 * same value. `onRewritten` is called with each object whose document loses its comments.
 */
export function changeManifests(
  documents: readonly ManifestDocument[],
  change: (template: PodTemplate) => unknown,
  format: ManifestFormat,
  onRewritten: (object: KubeObject) => void,
): string {
  const changed = documents.map((document) => {
    let value = document.value
    const touched: KubeObject[] = []
    const patch: PatchOperation[] = []
    for (const object of document.objects) {
      const template = podOf(object)
      if (template === undefined) continue
      const fresh = change(template)
      if (fresh !== template.value) touched.push(object)
      // By itself: elements of a List, which have no names, would be replaced as a whole.
      patch.push(...jsonPatch(template.value, fresh, pointerTo(template.path)))
      value = withValue(value, template.path, fresh)
    }
    return { document, value, touched, patch }
  })
  if (format === 'json') return asJson(changed.map(({ value }) => value))
  let text = ''
  for (const { document, value, touched, patch } of changed) {
    const rewritten = () => touched.forEach(onRewritten)
    const isAnew = format === 'yaml' && document.isJson
    const changedText = isAnew
      ? document.marker + stringify(value, { version: '1.1', lineWidth: 0 })
      : patch.length === 0
        ? document.marker + document.body
        : editDocument(document, patch, value, rewritten)
    text = appended(text, changedText)
  }
  return text
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

/** Long lines are not broken: what was one line stays one. */
const WRITING = { lineWidth: 0 } as const
const LONG = 60
const COMMENT = /(?:^|\s)#/g

/**
 * Returns the text of a document with changed values. Comments, order and notation of everything
 * else stay; the result is parsed again to verify the changes.
 */
function editDocument(
  { marker, body, isJson }: ManifestDocument,
  patch: readonly PatchOperation[],
  after: unknown,
  rewritten: () => void,
): string {
  if (isJson)
    return `${marker}${JSON.stringify(after, null, jsonIndent(body))}${body.slice(body.trimEnd().length)}`
  const layout = { ...WRITING, ...layoutOf(body) }
  // Anchors that several places share cannot be edited at one of them.
  const found = [false, true].reduce<string | undefined>((text, expands) => {
    const edited = text === undefined ? tryEdit(body, patch, layout, expands) : undefined
    if (edited === undefined) return text
    const candidates = [keepLines(body, edited.before, edited.after), edited.after]
    return candidates.find((each) => each !== undefined && saysSame(each, after))
  }, undefined)
  if ((found?.match(COMMENT)?.length ?? 0) < (body.match(COMMENT)?.length ?? 0)) rewritten()
  const text = found ?? stringify(after, { version: '1.1', ...layout })
  return marker + (body.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text)
}

/** Returns the document as it is written without any change, and with the changes. */
function tryEdit(body: string, patch: readonly PatchOperation[], layout: object, expands: boolean) {
  try {
    const document = editable(body)
    const before = document.toString(layout)
    if (expands) expandAliases(document)
    for (const operation of patch) applyOperation(document, operation)
    return { before, after: document.toString(layout) }
  } catch {
    return undefined
  }
}

/** Puts copies in the place of aliases, and removes the anchors. */
function expandAliases(document: Document): void {
  visit(document, {
    Alias: (_, alias) => alias.resolve(document)?.clone() as Node | undefined,
  })
  visit(document, {
    Value: (_, node) => void delete node.anchor,
  })
}

function applyOperation(document: Document, operation: PatchOperation): void {
  const keys = [...(parsePointer(operation.path) ?? [])]
  const last = keys.pop() ?? ''
  const parent = parentOf(document, keys)
  const value = operation.op === 'remove' ? undefined : nodeOf(document, operation.value)
  if (!isMap(parent) && !isSeq(parent)) {
    throw new Error(`cannot change the value at ${operation.path}`)
  }
  // Keeps on one line what was on one line and still fits.
  const isLong = operation.op !== 'remove' && JSON.stringify(operation.value).length > LONG
  if (parent.items.length === 0 || isLong) parent.flow = false
  if (value === undefined) parent.delete(last)
  else if (isMap(parent) || operation.op !== 'add') parent.set(last, value)
  else parent.items.splice(Number(last), 0, document.createNode(value))
}

/** A plain value takes the place of another one, and leaves the comment beside it. */
function nodeOf(document: Document, value: unknown): unknown {
  return typeof value === 'object' && value !== null ? document.createNode(value) : value
}

function parentOf(document: Document, keys: readonly string[]): unknown {
  let node: unknown = document.contents
  for (const key of keys) {
    if (isMap(node)) node = node.get(key, true)
    else if (isSeq(node)) node = node.items[Number(key)]
    else return undefined
  }
  return node
}

function saysSame(text: string, value: unknown): boolean {
  const document = editable(text)
  // Without keys that hold nothing at all, as text cannot say them.
  const said = JSON.parse(JSON.stringify(value)) as unknown
  return document.errors.length === 0 && sameJson(document.toJS(), said)
}

/** Detects the indentation of a document. */
function layoutOf(body: string): { readonly indent: number; readonly indentSeq: boolean } {
  const first = /^( +)[^\s#-]/m.exec(body)?.[1]?.length ?? 2
  // The dashes of a list are in the column of its key, or indented.
  const list = /^( *)[^\s#-][^\n]*:[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*( *)- /m.exec(body)
  const indentSeq = list === null || (list[2] ?? '').length > (list[1] ?? '').length
  return { indent: Math.min(Math.max(first, 1), 8), indentSeq }
}

function jsonIndent(body: string): string | number {
  return /^\s*[{[]\r?\n([ \t]+)/.exec(body)?.[1] ?? (body.trimEnd().includes('\n') ? 2 : 0)
}

/** Comparing more lines than this with as many others takes too long. */
const MOST_PAIRS = 4_000_000

/**
 * Carries a change over to a text that is written a little differently: `before` is the text as a
 * writer would write it, `after` the same with a change. Lines that the change leaves alone stay
 * exactly as they are in the text. Undefined when that takes too long.
 */
function keepLines(text: string, before: string, after: string): string | undefined {
  const own = text.split('\n')
  const old = before.split('\n')
  const fresh = after.split('\n')
  // Which line of the text stands for which line of the writer.
  const matches = pairs(old.map(bare), own.map(bare))
  const kept = pairs(old, fresh)
  if (matches === undefined || kept === undefined) return undefined
  const ownOf = new Map(matches)
  const keptBy = new Map(kept.map(([i, j]) => [j, i]))
  const gone = new Set(old.keys())
  for (const [i] of kept) gone.delete(i)
  const removed = new Set([...gone].map((i) => ownOf.get(i)))
  const lines: string[] = []
  let next = 0
  for (const [j, line] of fresh.entries()) {
    const i = keptBy.get(j)
    const place = i === undefined ? undefined : ownOf.get(i)
    if (place === undefined) {
      lines.push(line)
      continue
    }
    // Blank lines and the like that the writer would not have kept.
    for (; next < place; next++) if (!removed.has(next)) lines.push(own[next]!)
    lines.push(own[place]!)
    next = place + 1
  }
  for (; next < own.length; next++) if (!removed.has(next)) lines.push(own[next]!)
  return lines.join('\n')
}

/** Returns the text of a line without its layout. */
function bare(line: string): string {
  return line.replace(/\s+/g, '')
}

/** The longest list of pairs of equal lines, in the order of both. */
function pairs(
  one: readonly string[],
  other: readonly string[],
): readonly (readonly [number, number])[] | undefined {
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let end = 0
  const most = Math.min(one.length, other.length) - start
  while (end < most && one[one.length - 1 - end] === other[other.length - 1 - end]) end++
  const [ours, theirs] = [one, other].map((lines) => lines.slice(start, lines.length - end))
  if (ours!.length * theirs!.length > MOST_PAIRS) return undefined
  const middle = commonPairs(ours!, theirs!, (line, fresh) => line === fresh)
  return [
    ...Array.from({ length: start }, (_, i) => [i, i] as const),
    ...middle.map(([i, j]) => [start + i, start + j] as const),
    ...Array.from(
      { length: end },
      (_, k) => [one.length - end + k, other.length - end + k] as const,
    ),
  ]
}
