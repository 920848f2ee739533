import { quoted } from '../../base/text/foreign-text.ts'
import type { Given } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The URL by which clients reach Squall, without a slash at its end. */
export function parsePublicUrl({ text, source }: Given): string {
  if (text.includes('@')) {
    // Not repeated: it may hold a password.
    throw bad(source, 'the URL holds a user name or password', 'leave it out: clients send theirs')
  }
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) {
    const form = 'write the URL that clients are given, such as https://mcp.example.com'
    throw bad(source, `${quoted(text)} is not an http or https URL`, form)
  }
  if (/[?#]/.test(text)) {
    throw bad(source, `${quoted(text)} has a query or a fragment`, 'end the URL after its path')
  }
  const { origin, pathname } = new URL(text)
  return origin + pathname.replace(/\/+$/, '')
}

function bad(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('BAD_ADDRESS', `${source}: ${wrong}`, fix)
}
