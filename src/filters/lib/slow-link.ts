import type { FaultContext } from '../fault.ts'
import { ReadAhead } from './read-ahead.ts'

/** Bytes that are buffered before the upstream has to wait. */
const BUFFER = 64 * 1024

/**
 * This far ahead of its time, a link no longer waits: its rule was removed, or its clock set
 * back.
 */
const AHEAD = 250

export interface Link {
  /** Bytes in a second. */
  readonly rate: number
  /** Bytes to send at once, if set. */
  readonly chunk: number | undefined
}

/**
 * The bytes as they come over a slow link. Each piece is due at a time that follows from all that
 * went before it, so that waits which end late do not add up.
 */
export async function* slowed(
  ctx: FaultContext,
  body: AsyncIterable<Uint8Array>,
  { rate, chunk }: Link,
): AsyncGenerator<Uint8Array, void> {
  const piece = Math.max(chunk ?? Math.floor(rate / 20), Math.ceil(rate / 1000), 1)
  const arrivals = new ReadAhead(stamped(body, ctx.now), ({ bytes }) => bytes.length, BUFFER)
  /** When the link has carried all that it was given. */
  let free = -Infinity
  try {
    for await (const { bytes, at } of arrivals) {
      free = Math.max(free, at)
      for (let from = 0; from < bytes.length; from += piece) {
        const part = bytes.subarray(from, from + piece)
        const takes = (part.length / rate) * 1000
        free += takes
        const wait = free - ctx.now()
        if (wait > takes + AHEAD || (wait > 0 && !(await waited(ctx, wait)))) {
          yield bytes.subarray(from)
          for await (const rest of arrivals) yield rest.bytes
          return
        }
        yield part
      }
    }
  } finally {
    await arrivals.return()
  }
}

/** False when faults are to stop. */
function waited(ctx: FaultContext, ms: number): Promise<boolean> {
  return ctx.sleep(ms).then(
    () => true,
    () => false,
  )
}

async function* stamped(
  body: AsyncIterable<Uint8Array>,
  now: () => number,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly at: number }, void> {
  for await (const bytes of body) yield { bytes, at: now() }
}
