import {
  type HeaderLines,
  type RequestHead,
  headerValue,
  linesWithout,
} from '../../../http/headers.ts'
import type { EditCall } from '../../../filters/fault.ts'
import { messageIn } from '../../../filters/lib/json/frame-json.ts'
import { jsonArray, jsonElements } from '../../../base/json/json-array.ts'
import { asBuffer } from '../../../base/bytes.ts'
import { followMessage } from '../../../mcp/argument-headers.ts'
import type { Body } from '../../../http/transfer.ts'
import { codingOf, decodeWhole } from '../../../http/content-coding.ts'
import type { NotApplicableReason } from '../exchange-context.ts'

/** Headers that describe the original body, or ask for its handling. */
const BODY_HEADERS = new Set([
  'content-length',
  'content-encoding',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'transfer-encoding',
  'trailer',
  'expect',
])

/**
 * Returns the header lines for a changed body, with the length at its original position. With
 * `readsResponse` the client's accepted codings are removed, so that the response can be read.
 */
function headersForChangedRequest(
  lines: HeaderLines,
  length: number,
  readsResponse: boolean,
): string[] {
  const kept: string[] = []
  let given = false
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    if (name === 'content-length' && !given) {
      kept.push(lines[i]!, String(length))
      given = true
    } else if (!BODY_HEADERS.has(name) && !(readsResponse && name === 'accept-encoding')) {
      kept.push(lines[i]!, lines[i + 1]!)
    }
  }
  if (!given) kept.push('Content-Length', String(length))
  return kept
}

/** Headers that describe another request than a POST of a message. */
const NOT_OF_POST = new Set([...BODY_HEADERS, 'accept', 'content-type', 'last-event-id'])

/** Returns a request that posts a message on behalf of the client of another request. */
export function postOf(head: RequestHead, text: string, target = head.target): SentRequest {
  const body = Buffer.from(text)
  const headers = [
    ...linesWithout(head.headers, (name) => NOT_OF_POST.has(name)),
    'Content-Type',
    'application/json',
    'Accept',
    'application/json, text/event-stream',
    'Content-Length',
    String(body.length),
  ]
  return { head: { ...head, method: 'POST', target, headers }, body }
}

/** A request for the upstream. */
export interface SentRequest {
  readonly head: RequestHead
  readonly body: Body
}

/** Reports that an edit broke the JSON of a call. */
export class BrokenEditError extends Error {
  readonly code = 'SQUALL_BROKEN_EDIT'
}

interface DecodedBody {
  /** The decoded body. */
  readonly plain: Uint8Array
  /** The messages of a batch, or the whole body. */
  readonly elements: readonly Uint8Array[]
  readonly isArray: boolean
  /** The index in `elements` of each call, then of each other message. */
  readonly positions: readonly number[]
}

/**
 * Reads the JSON texts of a request's messages on demand, and writes the request anew when one
 * changes. The calls have the first indexes.
 */
export class CallTexts {
  #head: RequestHead
  readonly #limit: number
  #body: Body
  #parts: Promise<DecodedBody | undefined> | undefined
  #edits: Map<number, Buffer> | undefined

  constructor(head: RequestHead, body: Body, limit: number) {
    this.#head = head
    this.#body = body
    this.#limit = limit
  }

  /**
   * Returns the text of a call with its edits; undefined when it cannot be read. A body that is not
   * UTF-8 was not read as MCP and has no calls.
   */
  async text(index: number): Promise<string | undefined> {
    const edited = this.#edits?.get(index)
    if (edited !== undefined) return edited.toString()
    const parts = await this.#taken()
    const element = parts?.elements[parts.positions[index] ?? -1]
    return element === undefined ? undefined : asBuffer(element).toString()
  }

  /** Edits a call, and its headers unless `keep`; returns the reason when that is impossible. */
  async edit(
    index: number,
    edit: EditCall,
    keep = false,
  ): Promise<NotApplicableReason | undefined> {
    const text = await this.text(index)
    if (text === undefined) return 'unreadable'
    const edited = await edit(text)
    if (edited === undefined || edited === text) return 'nothing_to_act_on'
    try {
      JSON.parse(edited)
    } catch (error) {
      throw new BrokenEditError(`an edited call is not valid JSON: ${(error as Error).message}`)
    }
    this.replace(index, edited)
    const { headers } = this.#head
    if (!keep) this.#head = { ...this.#head, headers: followMessage(headers, text, edited) }
    return undefined
  }

  /** Replaces a message by any text. */
  replace(index: number, text: string): void {
    this.#edits ??= new Map()
    this.#edits.set(index, Buffer.from(text))
  }

  /** The request as it was received; undefined once a text of it was read. */
  get unread(): SentRequest | undefined {
    return this.#parts === undefined ? { head: this.#head, body: this.#body } : undefined
  }

  /** Returns the request without the calls that have a reply; `empty` when nothing is left. */
  async sent(responded: readonly number[]): Promise<SentRequest | 'empty'> {
    const head = this.#head
    if (responded.length === 0 && this.#edits === undefined)
      return { head, body: await this.#again() }
    const parts = await this.#taken()
    // A body that cannot be split is sent whole: an extra call is better than a lost one.
    if (parts === undefined) return { head, body: await this.#again() }
    const body = this.#rewritten(parts, responded)
    return body === undefined ? 'empty' : this.#as(body, responded.length > 0)
  }

  /** Returns a request with one call, in another text. */
  alone(text: string, more: HeaderLines): SentRequest {
    const { head, body } = this.#as(Buffer.from(text), false)
    return { head: { ...head, headers: [...head.headers, ...more] }, body }
  }

  #as(body: Uint8Array, readsResponse: boolean): SentRequest {
    const headers = headersForChangedRequest(this.#head.headers, body.length, readsResponse)
    return { head: { ...this.#head, headers }, body }
  }

  #rewritten(parts: DecodedBody, responded: readonly number[]): Uint8Array | undefined {
    const { elements, positions, isArray, plain } = parts
    const callAt = new Map(positions.map((at, index) => [at, index]))
    const left: Uint8Array[] = []
    for (const [at, element] of elements.entries()) {
      const index = callAt.get(at)
      if (index === undefined) left.push(element)
      else if (!responded.includes(index)) left.push(this.#edits?.get(index) ?? element)
    }
    if (left.length === 0) return undefined
    if (!isArray) return left[0]
    if (responded.length > 0) return jsonArray(left)
    // The bytes between the elements are kept, too.
    const pieces: Uint8Array[] = []
    let from = plain.byteOffset
    const piece = (to: number): void =>
      void pieces.push(plain.subarray(from - plain.byteOffset, to - plain.byteOffset))
    for (const [at, element] of elements.entries()) {
      piece(element.byteOffset)
      pieces.push(left[at]!)
      from = element.byteOffset + element.length
    }
    piece(plain.byteOffset + plain.length)
    return Buffer.concat(pieces)
  }

  async #again(): Promise<Body> {
    await this.#parts
    return this.#body
  }

  #taken(): Promise<DecodedBody | undefined> {
    this.#parts ??= this.#take()
    return this.#parts
  }

  async #take(): Promise<DecodedBody | undefined> {
    const { bytes, again } = await collected(this.#body)
    this.#body = again
    const coding = codingOf(headerValue(this.#head.headers, 'content-encoding'))
    const plain = decodeWhole(coding, bytes, this.#limit)
    if (plain === undefined) return undefined
    const found = jsonElements(plain)
    const elements = found ?? [plain]
    const isArray = found !== undefined
    // The position of the only message is known.
    if (elements.length === 1) return { plain, elements, isArray, positions: [0] }
    const calls: number[] = []
    const others: number[] = []
    for (const [at, element] of elements.entries()) (isCall(element) ? calls : others).push(at)
    return { plain, elements, isArray, positions: [...calls, ...others] }
  }
}

function isCall(element: Uint8Array): boolean {
  return messageIn(asBuffer(element).toString())?.kind === 'request'
}

/** Reads a whole body, and returns a body to send instead, because chunks can be read only once. */
async function collected(body: Body): Promise<{ bytes: Uint8Array; again: Body }> {
  if (body === null) return { bytes: new Uint8Array(0), again: body }
  if (body instanceof Uint8Array) return { bytes: body, again: body }
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const again = {
    length: body.length,
    trailers: () => body.trailers(),
    async *[Symbol.asyncIterator]() {
      yield* chunks
    },
  }
  return { bytes: Buffer.concat(chunks), again }
}
