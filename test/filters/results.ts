import type { Frame } from '../../src/filters/fault.ts'
import { toMessage } from '../../src/mcp/json-rpc.ts'

/** The text of a result, with spacing and a number that no serializer would write. */
export function resultJson(result: string): string {
  return `{ "jsonrpc" :"2.0", "big":10000000000000000001,"result": ${result} ,"id" : 1}`
}

/** A frame that ends the call with this result, written as JSON. */
export function resultFrame(result: string, kind: Frame['kind'] = 'body'): Frame {
  const json = resultJson(result)
  const raw = kind === 'body' ? json : `id: 5\r\nevent: message\r\ndata: ${json}\r\n\r\n`
  return { kind, raw: Buffer.from(raw), message: toMessage(JSON.parse(json)), last: true }
}
