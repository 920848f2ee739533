import { createHmac, randomBytes } from 'node:crypto'

/** A random key: the text cannot be guessed from its digest, however short. */
const SECRET = randomBytes(32)

/** Returns a short digest of a text that is stable for the life of the process. */
export function digest(text: string): string {
  return createHmac('sha256', SECRET).update(text).digest('base64url')
}
