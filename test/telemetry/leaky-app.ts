import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Secrets } from './secrets.ts'

const RESPONSE_HEADERS = [
  'set-cookie',
  'www-authenticate',
  'x-answer',
  'location',
  'mcp-session-id',
]

/** Puts secrets into every part of a response; the header `x-mode` selects the kind of response. */
export function leakyApp(secrets: Secrets): RequestListener {
  let stream: ServerResponse | undefined
  return (req, res) => {
    const mode = String(req.headers['x-mode'])
    const put = (part: string): string => secrets.plant(`${mode} answer ${part}`)
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      if (mode === 'no-http') {
        res.socket!.end(`HTTP/1.1 200 ${put('reason')}\r\n${put('line')}\r\n\r\n${put('body')}`)
        return
      }
      const head = secrets.headers(RESPONSE_HEADERS, `${mode} answer`)
      if (req.method === 'GET') {
        // Protocol version 2024-11-05: responses arrive on a stream that names the URL for calls.
        stream = res.writeHead(200, { ...head, 'content-type': 'text/event-stream' })
        res.write(`event: endpoint\ndata: /message?sessionId=${put('endpoint')}\n\n`)
        return
      }
      if (mode === 'cut') {
        res.writeHead(200, { ...head, 'content-type': 'application/json' })
        res.write(`{"result": "${put('body')}`, () => res.destroy())
        return
      }
      const asked = readMessage(Buffer.concat(parts).toString())
      const response = (id: unknown): object => {
        const error = { code: -32000, message: put('message'), data: { deep: [put('data')] } }
        const result = {
          content: [{ type: 'text', text: put('text') }],
          structuredContent: { key: put('structuredContent') },
          _meta: { key: put('_meta') },
          isError: mode === 'tool-error',
        }
        return { jsonrpc: '2.0', id, ...(mode === 'error' ? { error } : { result }) }
      }
      const data = JSON.stringify(
        Array.isArray(asked) ? asked.map((each) => response(each.id)) : response(asked.id),
      )
      if (mode === 'http+sse') {
        res.writeHead(202, head).end(put('accepted'))
        stream?.write(`event: message\ndata: ${data}\n\n`)
        return
      }
      const isStream = mode === 'stream'
      const type = isStream ? 'text/event-stream' : 'application/json'
      res.writeHead(mode === 'status' ? 401 : 200, { ...head, 'content-type': type })
      const note = {
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { data: put('note') },
      }
      const bad = mode === 'bad-answer' ? `{"${put('bad JSON')}` : data
      res.end(
        isStream
          ? `: ${put('comment')}\nid: ${put('event id')}\ndata: ${JSON.stringify(note)}\n\n` +
              `data: {"${put('bad event')}\n\ndata: ${data}\n\n`
          : bad,
      )
    })
  }
}

type Message = { readonly id?: unknown }

function readMessage(text: string): Message | Message[] {
  try {
    return JSON.parse(text) as Message | Message[]
  } catch {
    return { id: null }
  }
}

/** Puts secrets into the bytes after an upgrade, and into the response to a rejected upgrade. */
export function leakyUpgrades(server: Server, secrets: Secrets): void {
  server.on('upgrade', (req, socket) => {
    const mode = String(req.headers['x-mode'])
    const put = (part: string): string => secrets.plant(`${mode} answer ${part}`)
    const lines = Object.entries(secrets.headers(RESPONSE_HEADERS, `${mode} answer`))
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.on('error', () => undefined)
    socket.on('end', () => socket.end())
    if (mode === 'ws cut') socket.destroy()
    else if (mode === 'ws refused') {
      const body = put('body')
      socket.end(
        `HTTP/1.1 401 ${put('reason')}\r\n${head}content-length: ${body.length}\r\n\r\n${body}`,
      )
    } else {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n${head}\r\n`,
      )
      socket.on('data', () => socket.write(`frame ${put('frame')}`))
    }
  })
}
