import type { Output } from '../../src/filters/fault.ts'
import { Context } from './context.ts'

/** A response that comes in these chunks, and notes in `taken` which of them were asked for. */
export function output(
  headers: readonly string[],
  chunks: readonly string[],
  taken: string[] = [],
): Output {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      taken.push(chunk)
      yield await Promise.resolve(Buffer.from(chunk))
    }
  }
  return { head: { status: 200, reason: 'OK', headers }, body: body() }
}

/** The head lines of a JSON response of this length. */
export function jsonLines(length: number): string[] {
  return ['Content-Type', 'application/json', 'Content-Length', String(length)]
}

/** The head lines of a stream. */
export const SSE_LINES = ['Content-Type', 'text/event-stream']

/** The bytes of a response, one character each, chunk by chunk. */
export async function chunksOf({ body }: Output): Promise<string[]> {
  const list: string[] = []
  for await (const chunk of body) list.push(Buffer.from(chunk).toString('latin1'))
  return list
}

/** An event with the response to a call. */
export function responseEvent(id: number): string {
  return `event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":{"a":"b"}}\n\n`
}

/** A context whose sleeps last until the test ends them. */
export class Sleeper extends Context {
  readonly pending: { readonly ms: number; wake(): void; stop(): void }[] = []
  override readonly sleep = (ms: number): Promise<void> => {
    this.sleeps.push(ms)
    return new Promise((resolve, reject) => {
      this.pending.push({ ms, wake: resolve, stop: () => reject(new Error('gone')) })
    })
  }
}

/** A context whose clock goes on while it sleeps. */
export class Clocked extends Context {
  override readonly sleep = async (ms: number): Promise<void> => {
    this.sleeps.push(ms)
    this.time += ms
    await Promise.resolve()
  }
}

/** A context in which no fault may act. */
export class Forbidden extends Context {
  override readonly injected = (): never => {
    throw new Error('may not act')
  }
}

/** Lets everything happen that waits for nothing. */
export function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
