import { toMessage } from '../../mcp/json-rpc.ts'
import { headerValue, linesWithout, type RequestHead } from '../../mcp/http.ts'
import type { Body } from '../../mcp/transfer.ts'
import { codingOf, decodeWhole } from '../content-coding.ts'
import { jsonArray, jsonElements } from './json-array.ts'

/** A request as it is sent on. */
export interface SentRequest {
  readonly head: RequestHead
  readonly body: Body
}

/** Their values are of the body as it was; and the answer to the rest is to be readable here. */
const DROPPED = new Set([
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'trailer',
  'expect',
  'accept-encoding',
])

/**
 * A batch without the calls at these places, byte for byte what it was otherwise. `empty` when
 * nothing is left, undefined when the body cannot be taken apart.
 */
export async function restOfBatch(
  head: RequestHead,
  body: Body,
  answered: ReadonlySet<number>,
  limit: number,
): Promise<SentRequest | 'empty' | undefined> {
  const coding = codingOf(headerValue(head.headers, 'content-encoding'))
  const plain = decodeWhole(coding, await collected(body), limit)
  const elements = plain === undefined ? undefined : jsonElements(plain)
  // A single call that is no array, and is answered, leaves nothing.
  if (elements === undefined) return answered.size > 0 && plain !== undefined ? 'empty' : undefined
  let place = -1
  const rest = elements.filter((element) => {
    const isCall = toMessage(JSON.parse(Buffer.from(element).toString('utf8')))?.kind === 'request'
    if (isCall) place++
    return !isCall || !answered.has(place)
  })
  if (rest.length === 0) return 'empty'
  const bytes = jsonArray(rest)
  const kept = linesWithout(head.headers, (name) => DROPPED.has(name))
  const headers = [...kept, 'Content-Length', String(bytes.length)]
  return { head: { ...head, headers }, body: bytes }
}

async function collected(body: Body): Promise<Uint8Array> {
  if (body === null) return new Uint8Array(0)
  if (body instanceof Uint8Array) return body
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
