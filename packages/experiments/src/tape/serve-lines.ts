import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { parseMessages } from '#protocol'
import { LineSplitter } from '#sidecar'
import { errorText, type Player, type RpcRequest } from './player.ts'
import { textWriter } from './tape.ts'

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
  output.once('error', () => left.abort())
  const write = textWriter(player.tape, async (bytes) => {
    if (!output.writable || output.write(bytes)) return output.writable
    const waiting = new AbortController()
    const either = ['drain', 'close'].map((event) => once(output, event, waiting))
    await Promise.race(either).catch(() => left.abort())
    // Otherwise each large message would leave a listener.
    waiting.abort()
    return output.writable
  })
  session.open((text) => void write([text, '\n']))
  const open = new Set<Promise<void>>()
  const play = async (request: RpcRequest): Promise<void> => {
    for await (const { text } of session.play(request, signal)) await write([...text, '\n'])
  }
  for await (const text of linesOf(input, signal)) {
    const parsed = parseMessages(text)
    if (!parsed.ok && text.trim() !== '') await write([...errorText(-32700, 'Parse error'), '\n'])
    for (const request of player.take(parsed.ok ? parsed.messages : [])) {
      const playing = play(request).catch(() => left.abort())
      open.add(playing)
      void playing.finally(() => open.delete(playing))
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
    yield splitter.end()?.bytes.toString() ?? ''
  } catch {
    // The client is gone.
  }
}
