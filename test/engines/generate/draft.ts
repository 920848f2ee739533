import type { Random } from '../../support/random.ts'
import { markText, type AppResponse, type Script, type Step } from '../script.ts'
import { cut } from './responses.ts'
import { anyBody, toolCall } from './bodies.ts'
import { headText, type HeadKind } from './clients.ts'
import type { Ask } from './odd-requests.ts'
import { HIT_TOOLS, WAITS } from './rules.ts'

/** Puts a script together. Marks are given out here, so that each request finds its response. */
export class Draft {
  readonly #clients: Step[][] = [[]]
  readonly #responses: AppResponse[] = []
  #marker = 0
  #asked = 0
  #steps = 0
  #slow = false

  nextMark(): number {
    return this.#marker++
  }

  /** Steps so far, over all clients. */
  get steps(): number {
    return this.#steps
  }

  step(step: Step): void {
    this.#clients.at(-1)!.push(step)
    this.#steps++
  }

  response(response: AppResponse): void {
    this.#responses.push(response)
    // Streams are decoded in another thread.
    const text = response.pieces.join('')
    if (/content-encoding/i.test(text) && text.includes('event-stream')) this.#slow = true
  }

  /** Sends pieces, each in a turn of its own. The last one ends the requests. */
  send(pieces: readonly string[], gap: number, asks: readonly string[]): void {
    if (WAITS.test(pieces.join(''))) this.#slow = true
    for (const [index, bytes] of pieces.entries()) {
      if (index > 0 && gap > 0) this.step({ do: 'turns', count: gap })
      const last = index === pieces.length - 1
      this.step({ do: 'send', bytes, ...(last ? { asks } : {}) })
    }
    this.#asked += asks.length
  }

  /** Waits for the responses to all that was asked on this connection. */
  responded(): void {
    this.step({ do: 'responses', count: this.#asked })
  }

  nextClient(): void {
    this.#clients.push([])
    this.#asked = 0
  }

  script(about: string): Script {
    return { about, clients: this.#clients, responses: this.#responses, slow: this.#slow }
  }
}

/** A request with the marker that identifies its response. */
export type MarkedAsk = Ask & { readonly marker: number }

/** A call of a tool, now and then of a tool that a rule matches. */
export function plainCall(random: Random, draft: Draft, kind: HeadKind, length = 0): MarkedAsk {
  return callOf(random.chance(0.93) ? 'echo' : random.pick(HIT_TOOLS), draft, kind, length)
}

/** A call of this tool. */
export function callOf(tool: string, draft: Draft, kind: HeadKind, length = 0): MarkedAsk {
  const marker = draft.nextMark()
  const body = toolCall(marker, tool, length)
  return { method: 'POST', head: headText(kind, body.length), body, marker }
}

/** Creates a request that clients send between their calls. */
export function otherRequest(random: Random, draft: Draft, kind: HeadKind): MarkedAsk {
  const marker = draft.nextMark()
  const method = random.pick(['POST', 'POST', 'GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT'])
  if (method === 'POST' || method === 'PUT') {
    const body = anyBody(random, marker, 'echo')
    return { method, head: headText(kind, body.length, `${method} /mcp HTTP/1.1`), body, marker }
  }
  const lines = kind.filter((line) => !/^content-/i.test(line))
  const accept = random.chance(0.5) ? ['Accept: text/event-stream'] : []
  const line = `${method} ${random.pick(['/mcp', '/', '/healthz', '/broken', '//x'])}?k=${markText(marker)} HTTP/1.1`
  return { method, head: headText([...accept, ...lines], 0, line), body: '', marker }
}

/** The bytes of a request in pieces, as clients and networks cut them. */
export function requestPieces(random: Random, { head, body }: Ask): string[] {
  const draw = random.next()
  if (draw < 0.6 || body === '') return draw < 0.9 ? [head + body] : cut(random, head + body, 2)
  if (draw < 0.82) return [head, body]
  return cut(random, head + body, random.pick([2, 2, 3, 5]))
}
