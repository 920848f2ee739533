import { oneLine } from '#base'
import { assertShallow, DeepYamlError, MAX_YAML_DEPTH } from '../kube/yaml-depth.ts'
import { type Document, parseDocument } from 'yaml'
import { objectsOf } from './pod-templates.ts'

/** A document: the line that begins it, if any, and its body, exactly as they were read. */
export type ManifestDocument = ReturnType<typeof readDocument>

/** A manifest cannot be read: what is wrong, and where. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
  readonly code = 'INVALID_MANIFEST'
}

const MOST_DOCUMENTS = 10_000
const MARKER = /^---(?=[ \t\r\n]|$)/
/** The directives before the dashes, which belong to the document behind them. */
const DIRECTIVES = /^(?:[ \t]*(?:#[^\n]*)?\n)*%[^\n]*\n(?:(?:%[^\n]*|[ \t]*(?:#[^\n]*)?)\n)*$/
/** Types that no JSON has. */
const NOT_JSON: readonly string[] = ['timestamp', 'binary', 'omap', 'pairs', 'set']

/** The documents of a manifest; their texts, one after the other, are the text of the manifest. */
export function readManifest(text: string, file: string): readonly ManifestDocument[] {
  const texts = splitDocuments(text)
  if (texts.length > MOST_DOCUMENTS) {
    throw new ManifestError(`${file} has more than ${MOST_DOCUMENTS} documents: split it`)
  }
  let line = 1
  return texts.map((each) => {
    const document = readDocument(each, file, line)
    line += each.split('\n').length - 1
    return document
  })
}

/**
 * Returns the document for editing, parsed as by kubectl: `yes` is true and `0644` is octal. Written
 * values are quoted if they would be parsed otherwise.
 */
export function editable(body: string): Document {
  return parseDocument(body, {
    version: '1.1',
    customTags: (tags) =>
      tags.filter((tag) => typeof tag === 'string' || !NOT_JSON.some((name) => isNamed(tag, name))),
    prettyErrors: false,
  })
}

function isNamed({ tag }: { readonly tag: string }, name: string): boolean {
  return tag === `tag:yaml.org,2002:${name}`
}

/** Three dashes at the start of a line always begin a document, even within a text. */
function splitDocuments(text: string): readonly string[] {
  const texts: string[] = []
  let current = ''
  for (const line of text.split(/(?<=\n)/)) {
    if (MARKER.test(line) && current !== '' && !DIRECTIVES.test(current)) {
      texts.push(current)
      current = ''
    }
    current += line
  }
  return current === '' ? texts : [...texts, current]
}

function readDocument(text: string, file: string, line: number) {
  // Text behind the dashes belongs to the document, unless it is a comment.
  const marker = /^---[ \t]*(?:#[^\n]*)?\r?(?:\n|$)/.exec(text)?.[0] ?? ''
  const body = text.slice(marker.length)
  const isJson = /^\s*[{[]/.test(body)
  try {
    assertShallow(body)
    const document = editable(body)
    const [error] = document.errors
    if (error !== undefined) {
      const at = line + text.slice(0, marker.length + error.pos[0]).split('\n').length - 1
      throw new ManifestError(`${file}:${at}: ${oneLine(error.message)}`)
    }
    // An empty document has no value.
    const value: unknown = document.toJS() ?? undefined
    return { marker, body, isJson, value, objects: objectsOf(value) }
  } catch (error) {
    if (error instanceof ManifestError) throw error
    if (error instanceof DeepYamlError) {
      const at = line + marker.split('\n').length + error.line - 2
      throw new ManifestError(`${file}:${at}: nested more than ${MAX_YAML_DEPTH} levels deep`)
    }
    // Too many aliases, or nested too deeply.
    const reason = error instanceof Error ? error.message : String(error)
    throw new ManifestError(`${file}:${line}: cannot be read: ${oneLine(reason)}`)
  }
}
