import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { parseMessages } from '#protocol'
import { LineSplitter } from '#sidecar'
import type { Played, Player, RpcRequest } from './player.ts'

const MAX_LINE = 64 * 1024 * 1024

/** Serves a tape to one client, a message on each line, until the input ends and is responded to. */
export async function serveLines(
  player: Player,
  input: Readable,
  output: Writable,
  stop: AbortSignal,
): Promise<void> {
  const session = player.session()
  const left = new AbortController()
  const signal = AbortSignal.any([stop, left.signal])
  const writer = lineWriter(output, player)
  output.once('error', () => left.abort())
  session.open((message) => void writer.line(message))
  const open = new Set<Promise<void>>()
  const play = async (request: RpcRequest): Promise<void> => {
    for await (const part of session.play(request, signal)) await writer.played(part, request)
  }
  for await (const text of linesOf(input, signal)) {
    const parsed = parseMessages(text)
    if (!parsed.ok) {
      const error = { code: -32700, message: 'Parse error' }
      if (text.trim() !== '') await writer.line({ jsonrpc: '2.0', id: null, error })
      continue
    }
    for (const message of parsed.messages) {
      if (message.kind === 'request') {
        const playing = play(message).catch(() => left.abort())
        open.add(playing)
        void playing.finally(() => open.delete(playing))
      } else if (message.kind !== 'notification') player.responded(message.id)
    }
  }
  // Nobody is left who could respond to requests of the server, or end a stream.
  const timer = setTimeout(() => left.abort(), 1_000)
  await Promise.all(open)
  clearTimeout(timer)
}

/** Reads lines; ends when the signal is aborted, or a line is too long. */
async function* linesOf(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const splitter = new LineSplitter(MAX_LINE)
  signal.addEventListener('abort', () => void input.destroy(), { once: true })
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      for (const { bytes, kind } of splitter.push(chunk)) {
        if (kind === 'long') return
        yield bytes.toString()
      }
    }
    const last = splitter.end()
    if (last !== undefined) yield last.bytes.toString()
  } catch {
    // The client is gone.
  }
}

/** Writes one line after the other. */
function lineWriter(output: Writable, { tape }: Player) {
  let last: Promise<void> = Promise.resolve()
  const next = (work: () => Promise<void>): Promise<void> => (last = last.then(work))
  const write = async (bytes: string | Uint8Array): Promise<void> => {
    if (!output.writable || output.write(bytes)) return
    await Promise.race([once(output, 'drain'), once(output, 'close')])
  }
  const line = (message: object): Promise<void> => next(() => write(`${JSON.stringify(message)}\n`))
  const played = (part: Played, { id }: RpcRequest): Promise<void> => {
    if (part.kind === 'message') return line(part.message)
    if (part.kind !== 'long') {
      const text = part.kind === 'failed' ? part.line.failed : `status ${part.status}`
      const error = { code: -32603, message: `the recorded server failed: ${text}` }
      return line({ jsonrpc: '2.0', id, error })
    }
    return next(async () => {
      await write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`)
      for await (const piece of tape.pieces(part)) await write(piece)
      await write('}\n')
    })
  }
  return { line, played }
}
