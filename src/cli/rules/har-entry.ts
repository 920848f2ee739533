import { isRecord } from '../../base/values.ts'
import type { HeaderLines } from '../../http/headers.ts'

/** A request as it was recorded. */
export interface RecordedHttp {
  readonly method: string
  readonly target: string
  readonly headers: HeaderLines
  readonly body: string
}

/** True for an HTTP Archive, or one entry of it. */
export function isHar(value: unknown): boolean {
  return isRecord(value) && (isRecord(value['log']) || isRecord(value['request']))
}

/** The one request of an HTTP Archive, or what is wrong with it. */
export function harRequest(value: unknown): RecordedHttp | string {
  const log = isRecord(value) ? value['log'] : undefined
  const entries: unknown = isRecord(log) ? log['entries'] : [value]
  if (!Array.isArray(entries)) return 'the archive has no entries'
  if (entries.length !== 1) return `the archive has ${entries.length} entries, and one is explained`
  const entry: unknown = entries[0]
  const request = isRecord(entry) ? entry['request'] : undefined
  if (!isRecord(request)) return 'the entry has no request'
  const { method, url, headers: given = [], postData } = request
  if (typeof method !== 'string' || typeof url !== 'string' || !URL.canParse(url)) {
    return 'the request has no method and URL'
  }
  const headers: string[] = []
  for (const each of Array.isArray(given) ? (given as unknown[]) : []) {
    const { name, value: text } = isRecord(each) ? each : {}
    if (typeof name !== 'string' || typeof text !== 'string') return 'a header is no name and value'
    // HTTP/2 has its own way to write the request's line.
    if (!name.startsWith(':')) headers.push(name, text)
  }
  const body = isRecord(postData) ? postData['text'] : undefined
  const { pathname, search } = new URL(url)
  return { method, target: pathname + search, headers, body: typeof body === 'string' ? body : '' }
}
