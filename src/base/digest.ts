import { createHmac, randomBytes } from 'node:crypto'

/** Known to nobody: what was digested cannot be guessed from a digest, however short it is. */
const SECRET = randomBytes(32)

/** Returns a short text that stands for another one as long as the process lives. */
export function digest(text: string): string {
  return createHmac('sha256', SECRET).update(text).digest('base64url')
}
