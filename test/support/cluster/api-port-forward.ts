import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:https'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ApiServer } from './api-server.ts'

const FORWARD = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward\?ports=(\d+)$/
const DATA = 0
const FAILURE = 1

/**
 * Forwards ports of pods as kubelet does: channels by their first byte, each begun by the port's
 * number.
 */
export function forwardPorts(server: Server, api: ApiServer): void {
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: () => 'v4.channel.k8s.io',
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const [, namespace, pod, port] = FORWARD.exec(request.url ?? '') ?? []
    const sidecar = api.sidecars.get(`${namespace}/${pod}`)
    if (sidecar === undefined || api.denied.has('create pods/portforward')) {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (open) => {
      for (const channel of [DATA, FAILURE]) {
        const begin = Buffer.from([channel, 0, 0])
        begin.writeUInt16LE(Number(port), 1)
        open.send(begin)
      }
      const trouble = api.unforwarded.get(`${namespace}/${pod}`)
      if (trouble === undefined) join(open, Number(new URL(sidecar).port))
      else open.send(Buffer.concat([Buffer.from([FAILURE]), Buffer.from(trouble)]))
    })
  })
}

function join(open: WebSocket, port: number): void {
  const inside = connect(port, '127.0.0.1')
  inside.on('data', (bytes) => open.send(Buffer.concat([Buffer.from([DATA]), bytes])))
  inside.on('error', () => open.close())
  inside.on('close', () => open.close())
  open.on('message', (bytes: Buffer) => inside.write(bytes.subarray(1)))
  open.on('close', () => inside.destroy())
}
