import { createHash, timingSafeEqual } from 'node:crypto'
import type { Environment } from '../base/flags/flag.ts'
import { UsageError } from '../base/flags/usage-error.ts'
import { readSmallFile } from '../base/files.ts'
import { systemReason } from '../base/system-reason.ts'

/** The shortest token: as many characters as 96 random bits have in base 64. */
const MIN_TOKEN = 16
export const MAX_TOKEN = 512

const VISIBLE = /^[\u0021-\u007e]+$/
const BEARER = /^bearer +(\S+) *$/i
const BASIC = /^basic +([\w+/=-]+) *$/i

/**
 * Reads a token without the white space around it, from a file or an environment variable, which
 * other users cannot read; undefined when none is set. The file takes precedence, and an empty
 * variable counts as not set. Throws a `UsageError`, whose message never holds the token.
 */
export function readToken(
  name: 'admin token' | 'admin read token' | 'mcp token',
  file: string | undefined,
  env: Environment,
): string | undefined {
  if (file !== undefined) return checked(readTokenFile(file, name), `the ${name} file`)
  const variable = `SQUALL_${name.toUpperCase().replaceAll(' ', '_')}`
  const value = env[variable]
  return value === undefined || value.trim() === '' ? undefined : checked(value, variable)
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
    throw unusable(`the ${name} file cannot be read: ${systemReason(error)}`)
  }
}

function checked(text: string, source: string): string {
  const token = text.trim()
  if (token.length < MIN_TOKEN || token.length > MAX_TOKEN) {
    throw unusable(
      `${source} must be ${MIN_TOKEN} to ${MAX_TOKEN} characters long; got ${token.length}`,
    )
  }
  if (!VISIBLE.test(token)) {
    throw unusable(`${source} may contain only visible ASCII characters, without spaces`)
  }
  return token
}

function unusable(why: string): UsageError {
  return new UsageError('INVALID_VALUE', why, 'create a token with: openssl rand -base64 24')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
