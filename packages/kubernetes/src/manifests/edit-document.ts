import { type Document, isMap, isSeq, stringify } from 'yaml'
import { parsePointer, sameJson } from '#base'
import type { PatchOperation } from '../injector/json-patch.ts'
import { keepLines } from './keep-lines.ts'
import { editable, type ManifestDocument } from './manifest.ts'

/** Long lines are not broken: what was one line stays one. */
const WRITING = { lineWidth: 0 } as const
const LONG = 60

/**
 * Returns the text of a document with changed values. Comments, order and notation of everything
 * else stay; the result is parsed again to verify the changes.
 */
export function editDocument(
  { marker, body, isJson }: ManifestDocument,
  patch: readonly PatchOperation[],
  after: unknown,
): string {
  if (isJson) return `${marker}${JSON.stringify(after, null, jsonIndent(body))}${endOf(body)}`
  const layout = { ...WRITING, ...layoutOf(body) }
  const edited = tryEdit(body, patch, layout)
  const candidates =
    edited === undefined ? [] : [keepLines(body, edited.before, edited.after), edited.after]
  const found = candidates.find((text) => text !== undefined && saysSame(text, after))
  // Anchors that several places share cannot be edited at one of them.
  const text = found ?? stringify(after, { version: '1.1', ...layout })
  return marker + (body.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text)
}

/** Returns the document as it is written without any change, and with the changes. */
function tryEdit(body: string, patch: readonly PatchOperation[], layout: object) {
  try {
    const document = editable(body)
    const before = document.toString(layout)
    for (const operation of patch) applyOperation(document, operation)
    return { before, after: document.toString(layout) }
  } catch {
    return undefined
  }
}

function applyOperation(document: Document, operation: PatchOperation): void {
  const keys = [...(parsePointer(operation.path) ?? [])]
  const last = keys.pop() ?? ''
  const parent = parentOf(document, keys)
  const value = operation.op === 'remove' ? undefined : nodeOf(document, operation.value)
  if (isMap(parent)) {
    // Keeps on one line what was on one line and still fits.
    if (parent.items.length === 0 || isLong(operation)) parent.flow = false
    if (value === undefined) parent.delete(last)
    else parent.set(last, value)
  } else if (isSeq(parent)) {
    const index = Number(last)
    if (parent.items.length === 0 || isLong(operation)) parent.flow = false
    if (operation.op === 'add') parent.items.splice(index, 0, document.createNode(value))
    else if (value === undefined) parent.items.splice(index, 1)
    else parent.set(index, value)
  } else {
    throw new Error(`cannot change the value at ${operation.path}`)
  }
}

function isLong(operation: PatchOperation): boolean {
  return operation.op !== 'remove' && JSON.stringify(operation.value).length > LONG
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
  return document.errors.length === 0 && sameJson(document.toJS(), plain(value))
}

/** Without keys that hold nothing at all, as text cannot say them. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown
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

function endOf(body: string): string {
  return /\s*$/.exec(body)?.[0] ?? ''
}
