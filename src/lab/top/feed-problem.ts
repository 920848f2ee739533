import type { IncomingMessage } from 'node:http'
import { EventTooLongError } from './event-text.ts'
import { readSmall } from './read-small.ts'

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['ENOTFOUND', 'no such host'],
  ['EAI_AGAIN', 'the name cannot be looked up now'],
  ['EHOSTUNREACH', 'host cannot be reached'],
  ['ENETUNREACH', 'network cannot be reached'],
  ['ETIMEDOUT', 'no answer'],
])

/** What went wrong with a connection, in words. */
export function connectionProblem(error: Error): string {
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('HPE_')) return 'does not speak HTTP'
  return WORDS.get(code) ?? (code === '' ? 'the connection failed' : code)
}

/** Why something else than events came. */
export async function refusalProblem(response: IncomingMessage, token = ''): Promise<string> {
  const { statusCode = 0 } = response
  const { error } = await readSmall(response, token)
  if (statusCode === 401) {
    const what = token === '' ? 'needs a read token' : 'has another read token'
    return `${what}: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN`
  }
  if (statusCode === 404) return 'shows no rules: no Squall admin port, or one without --rules'
  if (statusCode === 200) return 'is no Squall admin port'
  return error === '' ? `answered ${statusCode}` : `answered ${statusCode}: ${error}`
}

/** What is wrong with an event. */
export function eventProblem(error: unknown): string {
  if (error instanceof EventTooLongError) return error.message
  return 'sent something that is not understood'
}
