import type { JsonRpcId } from './call.ts'
import type { SseFrame } from './sse-framer.ts'

/** The bytes of each end of an event that are kept. */
const END = 512
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")`
const BODY = '"(?:result|error)"'
/** Match an id in front of the result, and behind it. Elements of batches do not match. */
const ID_FIRST = new RegExp(
  String.raw`^[^{[]*\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,\s*(?:${VERSION}\s*,\s*)?${BODY}`,
)
const BODY_FIRST = new RegExp(String.raw`^[^{[]*\{\s*(?:${VERSION}\s*,\s*)?${BODY}`)
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${VERSION}\s*)?\}\s*$`)

/** Finds the id of a response in the ends of an event that is too large to be read. */
export class UnreadResponse {
  #begin: string | undefined
  #end = ''

  /** Takes the next frame of an event; returns the id at the end of a response. */
  take({ firstPiece, lastPiece, ends }: SseFrame): JsonRpcId | undefined {
    this.#begin ??= firstPiece.toString('utf8', 0, END)
    this.#end = (this.#end + lastPiece.subarray(-END).toString()).slice(-END)
    if (!ends) return undefined
    const hasBody = BODY_FIRST.test(this.#begin)
    const [, id] = (ID_FIRST.exec(this.#begin) ?? (hasBody && ID_LAST.exec(this.#end))) || []
    this.#begin = undefined
    this.#end = ''
    return id === undefined ? undefined : (JSON.parse(id) as JsonRpcId)
  }
}
