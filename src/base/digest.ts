import { createHash, hash, randomBytes } from 'node:crypto'

/** A random key: the text cannot be guessed from its digest, however short. */
const SECRET = randomBytes(32).toString('hex')

/** Returns a short digest of a text that is stable for the life of the process. */
export function digest(text: string): string {
  return hash('sha256', SECRET + text, 'base64url')
}

/** Returns the SHA-256 of a text in hexadecimal digits. */
export function sha256Of(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Returns the digits of a digest that people compare; 'none' without one. */
export function shortDigest(hex: string | null | undefined): string {
  return hex ? hex.slice(0, 8) : 'none'
}
