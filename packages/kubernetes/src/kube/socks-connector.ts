import { on, once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { unescape } from 'node:querystring'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { endingAfter } from '#base'
import { configError } from './kube-error.ts'

const NOT_SOCKS = 'it does not speak SOCKS5; check its port, or write http:// for an HTTP proxy'
const CLOSED = 'it closed the connection; check the user name, password and port in its URL'
const UNREACHED = 'it cannot reach the server; check the server URL, and the network of the proxy'
/** The replies of a proxy (RFC 1928) that have a next step. */
const REPLIES: Readonly<Record<number, string>> = {
  2: 'its rules do not allow the server; ask the administrator of the proxy',
  3: UNREACHED,
  4: UNREACHED,
  5: 'nothing listens at the server URL; check that the cluster is running',
}

/** Returns a connector through a SOCKS5 proxy, which resolves names; TLS is with the server. */
export function socksConnector(
  proxy: URL,
  tls: buildConnector.BuildOptions & { readonly timeout: number },
): buildConnector.connector {
  const [encrypt, open] = [buildConnector(tls), callbackify(tunnel)]
  return (options, callback) => {
    const isTls = options.protocol === 'https:'
    const target = { host: options.hostname, port: Number(options.port || (isTls ? 443 : 80)) }
    open(proxy, target, tls.timeout, (error, httpSocket) => {
      if (error !== null) callback(error, null)
      else if (isTls) encrypt({ ...options, httpSocket }, callback)
      else callback(null, httpSocket)
    })
  }
}

async function tunnel(
  proxy: URL,
  { host, port }: { readonly host: string; readonly port: number },
  withinMs: number,
): Promise<Socket> {
  const address = proxy.hostname.replace(/^\[|\]$/g, '')
  const socket = connect(Number(proxy.port || 1080), address)
  const ended = new AbortController()
  const signal = endingAfter(withinMs, ended.signal)
  socket.on('error', (error) => ended.abort(error))
  socket.once('close', () => ended.abort(new Error(CLOSED)))
  // One listener: each new one would be called for the same bytes again.
  const readable = on(socket, 'readable', { signal })
  // Leaves further bytes to TLS or HTTP.
  const take = async (size: number): Promise<Buffer> => {
    for (;;) {
      const bytes = socket.read(size) as Buffer | null
      if (bytes?.length === size) return bytes
      await readable.next()
    }
  }
  try {
    await once(socket, 'connect', { signal })
    await authenticate(proxy, socket, take)
    socket.write(Buffer.from([5, 1, 0, ...addressOf(host), port >> 8, port & 255]))
    const [version, reply = 1, , type] = await take(4)
    if (version !== 5) throw new Error(NOT_SOCKS)
    if (reply !== 0) throw new Error(REPLIES[reply] ?? `it failed with reply ${reply}; see its log`)
    // The address from which the proxy connected, and its port.
    await take((type === 1 ? 4 : type === 4 ? 16 : (await take(1))[0]!) + 2)
    await readable.return?.()
    return socket
  } catch (error) {
    socket.destroy()
    if (ended.signal.aborted) throw ended.signal.reason as Error
    if (!signal.aborted) throw error
    const silent = `it did not respond within ${withinMs / 1000} s; ${NOT_SOCKS}`
    throw new Error(silent, { cause: error })
  }
}

async function authenticate(
  { username, password, host }: URL,
  socket: Socket,
  take: (size: number) => Promise<Buffer>,
): Promise<void> {
  socket.write(Buffer.from(username === '' ? [5, 1, 0] : [5, 2, 0, 2]))
  const [version, method] = await take(2)
  if (version !== 5) throw new Error(NOT_SOCKS)
  if (method === 0) return
  // A KubeError: repeated requests would fail alike.
  if (username === '' || method !== 2) {
    const url = 'write socks5://USER:PASSWORD@HOST:PORT'
    throw configError(`the proxy ${host} requires a user name and a password; ${url}`)
  }
  socket.write(Buffer.from([1, ...counted(unescape(username)), ...counted(unescape(password))]))
  if ((await take(2))[1] === 0) return
  throw configError(`the proxy ${host} rejected the user name or password; correct its URL`)
}

/** Returns the bytes of a text, and their number before them. */
function counted(text: string): readonly number[] {
  const bytes = Buffer.from(text)
  if (bytes.length < 256) return [bytes.length, ...bytes]
  throw configError('SOCKS5 proxies support names and passwords of at most 255 bytes; shorten them')
}

/** Returns an address with its type, as in requests. */
function addressOf(host: string): readonly number[] {
  const version = isIP(host)
  if (version === 4) return [1, ...host.split('.').map(Number)]
  if (version === 0) return [3, ...counted(host)]
  const [head = [], tail = []] = host.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const groups = [...head, ...zeros, ...tail].map((group) => parseInt(group, 16))
  return [4, ...groups.flatMap((group) => [group >> 8, group & 255])]
}
