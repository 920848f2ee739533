import { quoted } from '#base'
import { isToken } from '#protocol'
import { readAs } from './read-input.ts'
import {
  asText,
  type FlagInput,
  group,
  invalidAddress,
  invalidFile,
  invalidOption,
  many,
  one,
} from '#cli'

const TARGET_FORM = 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp'
const MAX_TOKEN_FILE = 64 * 1024
const MAX_NAME = 128
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/
/** Headers that the load client sets. */
const OWN = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
])

/** Parses headers written as `name=value`. Errors do not repeat values, which may be secret. */
function parseHeaders(all: readonly FlagInput[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const { text, source } of all) {
    const at = text.indexOf('=')
    const name = text.slice(0, Math.max(0, at)).trim().toLowerCase()
    if (at === -1 || !isToken(name, MAX_NAME)) {
      throw invalidOption(source, 'the header name is missing or invalid', 'use name=value')
    }
    if (OWN.has(name)) {
      throw invalidOption(source, `squall load sets ${name}`, 'remove this header')
    }
    const value = text.slice(at + 1).trim()
    if (!VALUE.test(value)) {
      throw invalidOption(
        source,
        `invalid value for header ${name}`,
        'use one line without control characters',
      )
    }
    headers[name] = value
  }
  return headers
}

/** Parses the URL of an MCP endpoint. */
export function parseTarget({ text, source }: FlagInput): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The text may hold a password, so it is not repeated.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw invalidAddress(
      source,
      'the URL contains a user name or password',
      'use --header or --auth-token-file',
    )
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw invalidAddress(source, `${quoted(text)} must be an http or https URL`, TARGET_FORM)
}

/** Declares the headers of the requests to an MCP endpoint. */
export function headerFlags(title: string) {
  return group(title, {
    header: many('name=value', 'header to send; never shown or stored', parseHeaders),
    authTokenFile: one('file', 'file with a bearer token for the Authorization header', asText),
  })
}

/** Declares the MCP endpoint, which may be required, and the headers of the requests to it. */
export function targetFlag(title: string) {
  const help = 'URL of the MCP endpoint, such as http://localhost:3000/mcp'
  return group(title, {
    target: one('url', help, parseTarget, { required: TARGET_FORM }),
  })
}

/** Adds the token in a file, if there is one, to headers. Throws a `UsageError`. */
export async function withToken(
  headers: Readonly<Record<string, string>>,
  file: string | undefined,
  flag = '--auth-token-file',
): Promise<Readonly<Record<string, string>>> {
  if (file === undefined) return headers
  const token = await readAs(file, flag, MAX_TOKEN_FILE, (text) => tokenIn(text, flag))
  return { ...headers, authorization: `Bearer ${token}` }
}

/** Returns the token in the text of a file that holds a token alone. Throws a `UsageError`. */
export function tokenIn(text: string, source: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{1,16384}$/.test(token)) return token
  throw invalidFile(`${source}: contains no token`, 'write only the token, on one line')
}
