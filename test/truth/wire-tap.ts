import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What an observer between clients and Squall has seen. */
export interface WireTap {
  readonly port: number
  /** How often each `rule/fault` stood in a header or a comment. */
  readonly markers: Map<string, number>
  /** The same, with the tool, where all calls of the request were of one. */
  readonly marksOfTools: Map<string, number>
  /** Connections that Squall reset. */
  readonly resets: number
  /** Connections that a client closed in the middle of an exchange. */
  readonly left: number
  close(): Promise<void>
}

const MARK = /(?:^|\n)(?:x-squall-fault: |: x-squall-fault )([^\r\n]+)/g
const TOOL = /"name":"([^"]*)"/g

/** Listens in front of a port. It passes bytes on and reads them as text: it knows no HTTP. */
export async function startWireTap(to: number): Promise<WireTap> {
  const markers = new Map<string, number>()
  const marksOfTools = new Map<string, number>()
  const sockets = new Set<Socket>()
  const seen = { resets: 0, left: 0 }
  const server = createServer({ noDelay: true }, (client) => {
    const squall = connect({ port: to, host: '127.0.0.1', noDelay: true })
    let request = ''
    let response = ''
    let clientGone = false
    let squallGone = false
    const over = (): void => {
      const tools = new Set([...request.matchAll(TOOL)].map((match) => match[1]!))
      for (const [, marker] of response.matchAll(MARK)) {
        add(markers, marker!)
        if (tools.size === 1) add(marksOfTools, `${marker!} ${[...tools][0]!}`)
      }
      request = ''
      response = ''
    }
    for (const socket of [client, squall]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes: Buffer) => {
      // Clients here wait for a response before they ask again.
      if (response !== '') over()
      request += bytes.toString('latin1')
      squall.write(bytes)
    })
    client.on('error', () => undefined)
    client.on('close', () => {
      clientGone = true
      if (!squallGone && request !== '' && response === '') seen.left++
      squall.destroy()
    })
    squall.on('data', (bytes: Buffer) => {
      response += bytes.toString('latin1')
      if (!client.destroyed) client.write(bytes)
    })
    squall.on('error', () => {
      if (clientGone) return
      squallGone = true
      seen.resets++
      client.resetAndDestroy()
    })
    squall.on('close', () => {
      squallGone = true
      over()
      client.destroy()
    })
    squall.on('end', () => {
      squallGone = true
      client.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    markers,
    marksOfTools,
    get resets() {
      return seen.resets
    },
    get left() {
      return seen.left
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** One more of something. */
export function add(counts: Map<string, number>, name: string, count = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}
