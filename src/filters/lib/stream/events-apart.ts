import { adjoined } from '../../../base/bytes.ts'
import { SseFramer, type SseFrame } from '../../../mcp/sse-framer.ts'
import { endOfSlice } from '../../../mcp/sse-slice.ts'

export interface StreamPart {
  readonly bytes: Uint8Array
  /** The bytes are one chosen event. */
  readonly chosen: boolean
}

/**
 * Splits a stream into its chosen events and the bytes between them. No byte waits for a later
 * event, and events of more than `limit` bytes are not read.
 */
export async function* eventsApart(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  isChosen: (frame: SseFrame) => boolean,
): AsyncGenerator<StreamPart, void> {
  const framer = new SseFramer(limit)
  for await (const chunk of body) {
    for (let begin = 0; begin < chunk.length;) {
      const end = endOfSlice(chunk, begin)
      yield* partsOf(chunk.subarray(begin, end), framer, isChosen)
      begin = end
    }
  }
  const rest = framer.end()
  if (rest.length > 0) yield { bytes: rest, chosen: false }
}

function partsOf(
  bytes: Uint8Array,
  framer: SseFramer,
  isChosen: (frame: SseFrame) => boolean,
): readonly StreamPart[] {
  const parts: StreamPart[] = []
  let between: Uint8Array | undefined
  const close = (): void => {
    if (between !== undefined) parts.push({ bytes: between, chosen: false })
    between = undefined
  }
  framer.push(bytes, (frame) => {
    const chosen = isChosen(frame)
    const both = between === undefined || chosen ? undefined : adjoined(between, frame.raw)
    if (both === undefined) close()
    if (chosen) parts.push({ bytes: frame.raw, chosen })
    else between = both ?? frame.raw
  })
  close()
  return parts
}
