import type { ChunkRun } from '../../../src/http/chunk-run.ts'
import { ChunkReader } from '../../../src/http/fast/chunk-reader.ts'

import { same } from '../disagreement.ts'

/** The result of reading chunks that arrive in several pieces. */
export interface ChunksReading {
  readonly body: string
  readonly state: 'more' | 'whole' | 'unsupported' | 'broken'
  /**
   * Behind what was read, as an offset into all pieces together; of an unsupported chunk, where it
   * begins.
   */
  readonly at: number
}

/** One for all, as a connection has one for all of its responses. */
const chunks = new ChunkReader()

/** Reads chunks piece by piece; the first piece begins at an offset. */
export function readChunks(pieces: readonly Buffer[], offset: number): ChunksReading {
  chunks.reset()
  let body = ''
  const taker = {
    paused: false,
    piece: (bytes: Buffer, from: number, to: number): void => {
      body += bytes.toString('latin1', from, to)
    },
    run: (run: ChunkRun): void => {
      let written = ''
      run.each((chunk) => {
        const data = chunk.toString('latin1')
        written += `${chunk.length.toString(16)}\r\n${data}\r\n`
        body += data
      })
      // A run leaves as it came, so that it must be what would be written for its chunks.
      same('the run', run.text, written)
      same('a copy of the run', run.copy.toString('latin1'), written)
    },
  }
  let before = offset
  for (const piece of pieces) {
    // The bytes around a piece must not be read, and the piece must not be needed afterwards.
    const bytes = Buffer.concat([Buffer.from('9\r\n'), piece, Buffer.from('\r\n0\r\n\r\n')])
    const state = chunks.read(bytes, 3, 3 + piece.length, taker)
    const at = before + chunks.at - 3
    bytes.fill(0x2a)
    if (state !== 'more') {
      const kept = chunks.takeKept()
      return { body, state, at: state === 'unsupported' ? at - (kept?.length ?? 0) : at }
    }
    before += piece.length
    if (at !== before) throw new Error(`read up to ${at} of ${before}`)
  }
  return { body, state: 'more', at: before - (chunks.takeKept()?.length ?? 0) }
}
