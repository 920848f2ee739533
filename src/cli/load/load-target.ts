import { quoted } from '../../base/text/foreign-text.ts'
import type { Given } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'

const FORM = 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp'

/** The URL that is called. */
export function parseTarget(given: Given | undefined, form = FORM): URL {
  if (given === undefined) throw new UsageError('MISSING_VALUE', '--target is missing', FORM)
  const { text, source } = given
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Not repeated where it may hold a password.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw new UsageError(
      'BAD_ADDRESS',
      `${source}: the URL holds a user name or password`,
      'give them with --header or --auth-token-file',
    )
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new UsageError('BAD_ADDRESS', `${source}: ${quoted(text)} is no http or https URL`, form)
}
