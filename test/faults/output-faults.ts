import type { RequestListener } from 'node:http'
import type { Fault, FaultContext, Output } from '../../src/filters/fault.ts'
import { oneFault } from './one-fault.ts'

/** The same as `REPLACED`, about the exchange as HTTP. */
export const HTTP_RULE = oneFault('delay: { fixed: 1ms }', 'match: { http: { path: /mcp } }', 'r')

export type Bytes = AsyncGenerator<Uint8Array, void>

/** A fault that does one thing with the response as HTTP. */
export function onOutput(
  change: (ctx: FaultContext, output: Output) => Output | Promise<Output>,
): Fault {
  return { onOutput: (ctx, output) => change(ctx, output) }
}

/** A fault that changes the body alone. */
export function onBody(
  change: (source: AsyncIterable<Uint8Array>, ctx: FaultContext) => Bytes,
): Fault {
  return onOutput((ctx, { head, body }) => ({ head, body: change(body, ctx) }))
}

/** A fault that takes every chunk and gives it again. */
export const PASSING = onBody(async function* (source) {
  for await (const chunk of source) yield chunk
})

/** All of a body. */
export async function whole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

/** An upstream that responds in so many pieces, with a length or in chunks. */
export function inPieces(pieces: readonly string[], length?: number): RequestListener {
  return (req, res) => {
    req.resume()
    res.setHeader('content-type', 'application/json')
    if (length !== undefined) res.setHeader('content-length', length)
    const write = (index: number): void => {
      const piece = pieces[index]
      if (piece === undefined) res.end()
      else res.write(piece, () => setImmediate(write, index + 1))
    }
    write(0)
  }
}
