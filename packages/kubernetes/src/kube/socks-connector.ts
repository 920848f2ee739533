import { on, once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { unescape } from 'node:querystring'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { endingAfter } from '#base'
import { addressBytes } from './address-bytes.ts'
import { configError } from './kube-error.ts'

const NOT_SOCKS = 'it does not speak SOCKS5; check its port, or write http:// for an HTTP proxy'
const CLOSED = 'it closed the connection; check the user name, password and port in its URL'
const SILENT_SERVER = 'the server behind it does not respond; check the server URL'
/** The replies of a proxy (RFC 1928) with an own next step. */
const REPLIES: Readonly<Record<number, string>> = {
  2: 'its rules do not allow the server; ask the administrator of the proxy',
  5: 'nothing listens at the server URL; check that the cluster is running',
}

/** Returns a connector through a SOCKS5 proxy, which resolves names; TLS is with the server. */
export function socksConnector(
  proxy: URL,
  tls: buildConnector.BuildOptions & { readonly timeout: number },
): buildConnector.connector {
  const [encrypt, open] = [buildConnector(tls), callbackify(tunnel)]
  return (options, callback) =>
    open(proxy, options, tls.timeout, (error, httpSocket) => {
      if (error !== null) return callback(error, null)
      if (options.protocol !== 'https:') return callback(null, httpSocket)
      try {
        encrypt({ ...options, httpSocket }, (...ended) => {
          const { code } = (ended[0] ?? {}) as NodeJS.ErrnoException
          // Otherwise the proxy would seem to be out of reach.
          if (code === 'UND_ERR_CONNECT_TIMEOUT') callback(new Error(SILENT_SERVER), null)
          else callback(...ended)
        })
      } catch (invalid) {
        // A client certificate that cannot be used.
        httpSocket.destroy()
        callback(invalid as Error, null)
      }
    })
}

async function tunnel(proxy: URL, to: buildConnector.Options, ms: number): Promise<Socket> {
  const port = Number(to.port || (to.protocol === 'https:' ? 443 : 80))
  const address = proxy.hostname.replace(/^\[|\]$/g, '')
  const socket = connect(Number(proxy.port || 1080), address)
  const ended = new AbortController()
  const signal = endingAfter(ms, ended.signal)
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
    socket.write(Buffer.from([5, 1, 0, ...addressOf(to.hostname), port >> 8, port & 255]))
    const [version, reply = 1, , type] = await take(4)
    if (version !== 5) throw new Error(NOT_SOCKS)
    const failed = `it cannot reach the server (reply ${reply}); check the server URL, or see its log`
    if (reply !== 0) throw new Error(REPLIES[reply] ?? failed)
    // The address from which the proxy connected, and its port.
    await take((type === 1 ? 4 : type === 4 ? 16 : (await take(1))[0]!) + 2)
    await readable.return?.()
    return socket
  } catch (error) {
    socket.destroy()
    if (ended.signal.aborted) throw ended.signal.reason as Error
    if (!signal.aborted) throw error
    const silent = `it did not respond within ${ms / 1000} s; ${NOT_SOCKS}`
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
  if (username === '') {
    const url = 'write socks5://USER:PASSWORD@HOST:PORT'
    throw configError(`the proxy ${host} requires a user name and a password; ${url}`)
  }
  if (method !== 2)
    throw configError(`the proxy ${host} accepts no user name; ask its administrator how to log in`)
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
  return version === 0 ? [3, ...counted(host)] : [version === 4 ? 1 : 4, ...addressBytes(host)]
}
