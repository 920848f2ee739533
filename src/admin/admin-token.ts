import { createHash, timingSafeEqual } from 'node:crypto'
import { readBounded } from '../listener/bounded-file.ts'

/** The shortest token that is taken: as many characters as 96 random bits have in base 64. */
export const MIN_TOKEN = 16
/** The longest token that is taken. */
export const MAX_TOKEN = 512

const VISIBLE = /^[\u0021-\u007e]+$/
const BEARER = /^bearer +(\S+) *$/i

/** A token cannot be used. The message never holds it. */
export class AdminTokenError extends Error {
  override readonly name = 'AdminTokenError'
}

/** Where a token may come from. */
export interface AdminTokenSources {
  /** As the environment says it; empty counts as not set. */
  readonly env: string | undefined
  /** A file that holds it alone; goes before the environment. */
  readonly file: string | undefined
}

/** The token that changes need, without the white space around it; undefined when none is set. */
export function readAdminToken({ env, file }: AdminTokenSources): string | undefined {
  if (file !== undefined) return checked(readTokenFile(file), 'the admin token file')
  if (env === undefined || env.trim() === '') return undefined
  return checked(env, 'SQUALL_ADMIN_TOKEN')
}

/** Tells whether a request carries the token, in a time that says nothing of either. */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(token)
  return (authorization) => {
    const given = BEARER.exec(authorization ?? '')?.[1]
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

function readTokenFile(file: string): string {
  try {
    return readBounded(file).toString('utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'not a small file'
    throw new AdminTokenError(`the admin token file cannot be read: ${why}`)
  }
}

function checked(text: string, source: string): string {
  const token = text.trim()
  if (token.length < MIN_TOKEN || token.length > MAX_TOKEN) {
    throw new AdminTokenError(
      `${source} must have ${MIN_TOKEN} to ${MAX_TOKEN} characters, and has ${token.length}`,
    )
  }
  if (!VISIBLE.test(token)) {
    throw new AdminTokenError(`${source} may hold visible ASCII characters only, and no spaces`)
  }
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
