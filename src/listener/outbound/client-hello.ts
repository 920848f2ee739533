/** A larger ClientHello is not read. */
export const MAX_HELLO = 16 * 1024

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0

/**
 * Returns the server name of a TLS ClientHello; null when the bytes are none or name no server, and
 * undefined when more bytes are needed.
 */
export function serverNameIn(bytes: Buffer): string | null | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] !== HANDSHAKE) return null
  const message = handshakeMessage(bytes)
  if (message === undefined) return bytes.length > MAX_HELLO ? null : undefined
  if (message === null || message[0] !== CLIENT_HELLO) return null
  try {
    return serverName(message)
  } catch {
    // A length points outside of the message.
    return null
  }
}

/** Joins the fragments of the first handshake message. */
function handshakeMessage(bytes: Buffer): Buffer | null | undefined {
  const fragments: Buffer[] = []
  let size = 0
  let needed = 4
  for (let at = 0; ;) {
    if (bytes.length < at + 5) return undefined
    if (bytes[at] !== HANDSHAKE) return null
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return null
    const fragment = bytes.subarray(at + 5, at + 5 + length)
    fragments.push(fragment)
    size += fragment.length
    if (size >= 4) {
      const joined = Buffer.concat(fragments)
      needed = 4 + joined.readUIntBE(1, 3)
      if (needed > MAX_HELLO) return null
      if (size >= needed) return joined.subarray(0, needed)
    }
    at += 5 + length
  }
}

function serverName(message: Buffer): string | null {
  // Type and length, version, random.
  let at = 4 + 2 + 32
  at += 1 + message.readUInt8(at) // the session id
  at += 2 + message.readUInt16BE(at) // the cipher suites
  at += 1 + message.readUInt8(at) // the compression methods
  const end = Math.min(message.length, at + 2 + message.readUInt16BE(at))
  at += 2
  while (at + 4 <= end) {
    const type = message.readUInt16BE(at)
    const length = message.readUInt16BE(at + 2)
    if (type === SERVER_NAME) {
      const size = message.readUInt16BE(at + 7)
      const name = message.toString('latin1', at + 9, Math.min(at + 9 + size, message.length))
      return /^[\w.-]{1,253}$/.test(name) ? name.toLowerCase() : null
    }
    at += 4 + length
  }
  return null
}
