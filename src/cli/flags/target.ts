import { quoted } from '../../base/text/foreign-text.ts'
import type { Given } from './flag-values.ts'
import { badAddress, missing } from './usage-error.ts'

const TARGET_FORM = 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp'

/** Parses the URL of an MCP endpoint, or of another form. */
export function parseTarget(given: Given | undefined, form = TARGET_FORM): URL {
  if (given === undefined) throw missing('--target is missing', TARGET_FORM)
  const { text, source } = given
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The text may hold a password, so it is not repeated.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw badAddress(
      source,
      'the URL holds a user name or password',
      'use --header or --auth-token-file',
    )
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw badAddress(source, `${quoted(text)} is not an http or https URL`, form)
}
