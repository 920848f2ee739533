import type { RequestListener } from 'node:http'

/** A result with `text`, as JSON bytes that no serializer would write. */
export function resultText(id: number | string, text = 'ok'): string {
  return `{"result" :{"content":[{"type":"text","text":${JSON.stringify(text)}}],"n":10000000000000000001},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}

interface Message {
  readonly id?: number | string
  readonly method?: string
}

/** Reads the request of an upstream: all messages of the POST. */
async function asked(req: Parameters<RequestListener>[0]): Promise<Message[]> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  const value = JSON.parse(Buffer.concat(parts).toString() || '[]') as Message | Message[]
  return Array.isArray(value) ? value : [value]
}

/** Calls back with the messages that an upstream gets. */
export function whenAsked(
  req: Parameters<RequestListener>[0],
  response: (messages: Message[]) => unknown,
): void {
  asked(req).then(response, () => undefined)
}

/** An upstream that responds in JSON, to a batch with an array. */
export const jsonApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    const calls = messages.filter(({ id }) => id !== undefined)
    const all = calls.map(({ id }) => resultText(id!))
    if (all.length === 0) return res.writeHead(202).end()
    const body =
      messages.length === 1 && req.headers['x-batch'] === undefined
        ? all[0]!
        : `[${all.join(' , ')}]`
    res.setHeader('content-type', 'application/json')
    res.setHeader('content-length', Buffer.byteLength(body))
    return res.end(body)
  })
}

/** The stream of a server, with a progress event and a comment before the response. */
export function streamText(id: number | string): string {
  return `id: 1\ndata: \n\n: keep\n\nevent: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(id)},"progress":1}}\r\n\r\nid: 2\nevent: message\ndata: ${resultText(id)}\n\n`
}

/** An upstream that responds with a stream. */
export const sseApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    res.setHeader('content-type', 'text/event-stream')
    for (const { id } of messages) if (id !== undefined) res.write(streamText(id))
    res.end()
  })
}
