import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { expect } from 'vitest'
import {
  type AppExchange,
  chunk,
  type RawClient,
  response,
  type RuleStage,
  type StartOptions,
} from '../support/wire.ts'
import { get, POLL, post, request, Stage, streamHead } from '../accounting/stage.ts'

type Options = Omit<StartOptions, 'upstream' | 'rules'>

/**
 * An upstream of HTTP+SSE behind a sidecar with rules, whose responses the test gives by itself.
 */
export class PushApp {
  readonly stage: Stage
  /** The streams that clients requested from the upstream, in order. */
  readonly streams: AppExchange[]

  private constructor(stage: Stage, streams: AppExchange[]) {
    this.stage = stage
    this.streams = streams
  }

  static async open(
    rules: readonly RuleSpec[],
    options: Options = {},
    lines = '',
  ): Promise<PushApp> {
    const streams: AppExchange[] = []
    const stage = await Stage.open(
      (exchange) => {
        if (exchange.request.method !== 'GET') {
          void exchange.write(response('202 Accepted', [], 'Accepted'))
          return
        }
        streams.push(exchange)
        const endpoint = `/message?sessionId=${exchange.request.target.split('?')[1] ?? ''}`
        const first = `event: endpoint\ndata: ${endpoint}\n\n`
        if (lines === '') void exchange.send([streamHead(), chunk(first)])
        else void exchange.write(streamHead(lines))
      },
      { ...options, rules },
    )
    return new PushApp(stage, streams)
  }

  close(): Promise<void> {
    return this.stage.squall.close()
  }

  get faults(): RuleStage {
    return this.stage.squall.faults!
  }

  /** Opens the stream of a session. */
  async listen(session: string): Promise<RawClient> {
    const client = await this.stage.send(get(`/sse?${session}`), 'GET')
    await client.sees('endpoint')
    return client
  }

  /** Posts a call and waits until it was taken. */
  async call(session: string, id: unknown, name = 'echo', more: object = {}): Promise<RawClient> {
    return this.stage.exchange(this.posted(session, id, name, more))
  }

  posted(session: string, id: unknown, name = 'echo', more: object = {}): string {
    const message = request(id, 'tools/call', { name, ...more })
    return post(message, '', `/message?sessionId=${session}`)
  }

  /** The upstream writes this on its n-th stream, as one chunk. */
  say(text: string, stream = 0): void {
    this.streams[stream]!.socket.write(chunk(text))
  }
}

/** A message as an event. */
export function said(message: unknown, lines = ''): string {
  return `${lines}event: message\ndata: ${JSON.stringify(message)}\n\n`
}

/** The chunks that a client has been sent so far, of a response that is sent in chunks. */
export function chunksOf(client: RawClient): readonly string[] {
  const chunks: string[] = []
  let rest = client.text.slice(client.text.indexOf('\r\n\r\n') + 4)
  for (;;) {
    const end = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.slice(0, end), 16)
    if (end < 0 || !(size > 0) || rest.length < end + 2 + size) return chunks
    chunks.push(rest.slice(end + 2, end + 2 + size))
    rest = rest.slice(end + 4 + size)
  }
}

/** The same as one text, without what the stream begins with. */
export function heard(client: RawClient): string {
  return chunksOf(client).slice(1).join('')
}

/**
 * Waits until a client has been sent this, and nothing else, behind what the stream begins with.
 */
export async function hears(client: RawClient, text: string): Promise<void> {
  await expect.poll(() => heard(client), POLL).toBe(text)
}
