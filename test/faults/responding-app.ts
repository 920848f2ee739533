import type { RequestListener } from 'node:http'
import { whenAsked } from './apps.ts'

/** The text of a response with this result, as no serializer would write it. */
export function responseText(result: string, id: number | string = 1): string {
  return `{ "jsonrpc" :"2.0","big":10000000000000000001, "result": ${result} ,"id" : ${JSON.stringify(id)}}`
}

/** An upstream that responds to each call with this result, as one body. */
export function bodyApp(result: string, chunked = false): RequestListener {
  return (req, res) => {
    whenAsked(req, (messages) => {
      const all = messages.flatMap(({ id }) => (id === undefined ? [] : [responseText(result, id)]))
      const body = messages.length === 1 ? all.join('') : ` [${all.join(' ,\n')} ] `
      res.setHeader('content-type', 'application/json; charset=utf-8')
      if (!chunked) res.setHeader('content-length', Buffer.byteLength(body))
      res.write(body)
      res.end()
    })
  }
}

/**
 * The stream that `streamApp` sends: a primer, an event of the upstream's own, and the response.
 */
export function streamOf(result: string, own = '', id: number | string = 1): string {
  return `id: a1\r\ndata: \r\n\r\n: hi\n\n${own}event: message\r\nid: a2\r\ndata: ${responseText(result, id)}\r\n\r\n`
}

/** An upstream that responds to each call with this result, in a stream. */
export function streamApp(result: string, own = ''): RequestListener {
  return (req, res) => {
    whenAsked(req, (messages) => {
      res.setHeader('content-type', 'text/event-stream')
      for (const { id } of messages) if (id !== undefined) res.write(streamOf(result, own, id))
      res.end()
    })
  }
}
