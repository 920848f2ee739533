/** A larger ClientHello is not read. */
export const MAX_HELLO = 16 * 1024

/** A ClientHello in more records is not read. */
const MAX_RECORDS = 16

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

/** Joins the records of the first handshake message. */
function handshakeMessage(bytes: Buffer): Buffer | null | undefined {
  const fragments: Buffer[] = []
  for (let at = 0; bytes.length >= at + 5 && fragments.length < MAX_RECORDS;) {
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== HANDSHAKE || length === 0) return null
    fragments.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  const joined = Buffer.concat(fragments)
  const needed = joined.length < 4 ? Infinity : 4 + joined.readUIntBE(1, 3)
  if (joined.length >= needed) return joined.subarray(0, needed)
  const isHopeless = fragments.length === MAX_RECORDS || (needed > MAX_HELLO && needed < Infinity)
  return isHopeless ? null : undefined
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
