import { isHeaderName, isToken } from '../../http/header-text.ts'
import { fieldsOf, isRecord, parsedJson, textOf } from '../../base/values.ts'
import { type HeaderLines, headerValue } from '../../http/headers.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { parseMessages } from '../../mcp/json-rpc.ts'
import { readText } from '../files.ts'
import { invalidFile, type UsageError } from '../../base/flags/usage-error.ts'

interface RecordedHttp {
  readonly method: string
  readonly target: string
  readonly headers: HeaderLines
  readonly body: string
}

/** Returns true for an HTTP Archive, or one entry of it. */
function isHar(value: unknown): boolean {
  return isRecord(value) && (isRecord(value['log']) || isRecord(value['request']))
}

/** Returns the only request of an HTTP Archive, or the error. */
function harRequest(value: unknown): RecordedHttp | string {
  const { log } = fieldsOf(value)
  const entries: unknown = isRecord(log) ? log['entries'] : [value]
  if (!Array.isArray(entries)) return 'the archive has no entries'
  if (entries.length !== 1) return `the archive has ${entries.length} entries instead of one`
  const { request } = fieldsOf(entries[0])
  if (!isRecord(request)) return 'the entry has no request'
  const { method, url, headers: given = [], postData } = request
  if (typeof method !== 'string' || typeof url !== 'string' || !URL.canParse(url)) {
    return 'the request has no method or no valid URL'
  }
  const headers: string[] = []
  for (const each of Array.isArray(given) ? (given as unknown[]) : []) {
    const { name, value: text } = fieldsOf(each)
    if (typeof name !== 'string' || typeof text !== 'string')
      return 'a header has no name or no value'
    // HTTP/2 writes the request line as headers that begin with a colon.
    if (!name.startsWith(':')) headers.push(name, text)
  }
  const { pathname, search } = new URL(url)
  const body = textOf(fieldsOf(postData)['text']) ?? ''
  return { method, target: pathname + search, headers, body }
}

/** The largest request that a sidecar reads by default. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_HEADERS = 1000
const START = /^(\S{1,64}) (\S+) HTTP\/[0-9](?:\.[0-9])?$/
const FIX =
  'use a JSON-RPC message or batch, an HTTP request with headers, or a HAR file with one entry'

/** Reads a recorded request, `-` being standard input. Throws a `UsageError`. */
export async function readRecordedRequest(path: string): Promise<RecordedHttp> {
  return parseRecordedRequest(await readText(path, MAX_BYTES, `--request: ${quoted(path)}`))
}

/** Parses a request: HTTP as on the wire, JSON-RPC alone, or an HTTP Archive. */
export function parseRecordedRequest(text: string): RecordedHttp {
  const start = text.trimStart()
  if (start === '') throw wrong('the request is empty')
  if (!start.startsWith('{') && !start.startsWith('[')) return httpOf(start)
  const value = parsedJson(start)
  if (value === undefined) throw wrong('the request is not valid JSON')
  if (isHar(value)) {
    const found = harRequest(value)
    if (typeof found === 'string') throw wrong(found)
    return found
  }
  const parsed = parseMessages(start)
  if (!parsed.ok) {
    throw wrong(
      parsed.reason === 'too_many_messages'
        ? 'the batch is too large'
        : 'the request is not valid JSON-RPC',
    )
  }
  const headers = ['content-type', 'application/json']
  return { method: 'POST', target: '/mcp', headers, body: start }
}

function httpOf(text: string): RecordedHttp {
  const end = /\r?\n\r?\n/.exec(text)
  const head = end === null ? text.trimEnd() : text.slice(0, end.index)
  const body = end === null ? '' : text.slice(end.index + end[0].length)
  const [first = '', ...lines] = head.split(/\r?\n/)
  const start = START.exec(first)
  if (start === null || !isToken(start[1]!, 64))
    throw wrong(`invalid request line ${quoted(first)}`)
  if (lines.length > MAX_HEADERS) throw wrong('too many headers')
  const headers: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    // The text may be a secret, so it is not repeated.
    if (colon < 1 || !isHeaderName(line.slice(0, colon))) throw wrong('invalid header line')
    headers.push(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  for (const name of ['transfer-encoding', 'content-encoding']) {
    const coding = headerValue(headers, name)?.toLowerCase() ?? 'identity'
    if (coding !== 'identity') throw wrong(`encoded bodies are not supported (${name})`)
  }
  return { method: start[1]!, target: start[2]!, headers, body }
}

function wrong(what: string): UsageError {
  return invalidFile(`--request: ${what}`, FIX)
}
