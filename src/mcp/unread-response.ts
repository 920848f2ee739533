import { asBuffer } from '../base/bytes.ts'
import { parsedJson } from '../base/values.ts'
import type { JsonRpcId } from './call.ts'
import type { SseFrame } from './sse-framer.ts'

/** The bytes of each end of an event that are kept. */
const END = 512
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")`
const BODY = '"(?:result|error)"'
/** Match an id in front of the result, and behind it. Elements of batches do not match. */
const ID_FIRST = new RegExp(
  String.raw`^\s*\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,\s*(?:${VERSION}\s*,\s*)?${BODY}`,
)
const BODY_FIRST = new RegExp(String.raw`^\s*\{\s*(?:${VERSION}\s*,\s*)?${BODY}`)
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${VERSION}\s*)?\}\s*$`)

/** Matches the lines in front of the data of an event, or the sign of a long line on stdio. */
const BEFORE = /^[^]*?^(?:data:|:>)/m

/** Finds the id of a response in the ends of an event that is too large to be read. */
export class UnreadResponse {
  #begin = ''
  #end = ''

  /** Takes the next frame of an event; returns the id at the end of a response. */
  take({ raw, ends }: SseFrame): JsonRpcId | undefined {
    const bytes = asBuffer(raw)
    if (this.#begin.length < END) this.#begin += bytes.toString('utf8', 0, END)
    this.#end = (this.#end + bytes.subarray(-END).toString()).slice(-END)
    if (!ends) return undefined
    const begin = this.#begin.replace(BEFORE, '')
    const found = ID_FIRST.exec(begin) ?? (BODY_FIRST.test(begin) ? ID_LAST.exec(this.#end) : null)
    this.#begin = this.#end = ''
    return found === null ? undefined : (parsedJson(found[1]!) as JsonRpcId | undefined)
  }
}
