import { createHash, timingSafeEqual } from 'node:crypto'
import { readSmallFile } from '../base/small-file.ts'
import { systemReason } from '../base/system-reason.ts'

/** The shortest token: as many characters as 96 random bits have in base 64. */
const MIN_TOKEN = 16
export const MAX_TOKEN = 512

const VISIBLE = /^[\u0021-\u007e]+$/
const BEARER = /^bearer +(\S+) *$/i
const BASIC = /^basic +([\w+/=-]+) *$/i

/** Reports a token that cannot be used. The message never holds the token. */
export class AdminTokenError extends Error {
  override readonly name = 'AdminTokenError'
}

const NAMES = { admin: 'admin token', read: 'admin read token', mcp: 'mcp token' } as const

export interface AdminTokenSources {
  readonly kind?: keyof typeof NAMES
  /** The value of the variable; empty counts as not set. */
  readonly env: string | undefined
  /** A file with the token alone; takes precedence over the variable. */
  readonly file: string | undefined
}

/** Reads a token, without the white space around it; undefined when none is set. */
export function readAdminToken({
  kind = 'admin',
  env,
  file,
}: AdminTokenSources): string | undefined {
  const name = NAMES[kind]
  if (file !== undefined) return checked(readTokenFile(file, name), `the ${name} file`)
  if (env === undefined || env.trim() === '') return undefined
  return checked(env, `SQUALL_${name.toUpperCase().replaceAll(' ', '_')}`)
}

/** Returns a check whether a text is the token, in a time that depends on neither. */
export function tokenCheck(token: string): (given: string | undefined) => boolean {
  const expected = digest(token)
  return (given) => given !== undefined && timingSafeEqual(digest(given), expected)
}

/** Returns the token of `authorization: Bearer …`. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1]
}

/** Returns the password of `authorization: Basic …`, which is how browsers send a token. */
export function basicPassword(authorization: string | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon === -1 ? undefined : pair.slice(colon + 1)
}

function readTokenFile(file: string, name: string): string {
  try {
    return readSmallFile(file).toString('utf8')
  } catch (error) {
    throw new AdminTokenError(`the ${name} file cannot be read: ${systemReason(error)}`)
  }
}

function checked(text: string, source: string): string {
  const token = text.trim()
  if (token.length < MIN_TOKEN || token.length > MAX_TOKEN) {
    throw new AdminTokenError(
      `${source} must be ${MIN_TOKEN} to ${MAX_TOKEN} characters long; got ${token.length}`,
    )
  }
  if (!VISIBLE.test(token)) {
    throw new AdminTokenError(`${source} may contain only visible ASCII characters, without spaces`)
  }
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
