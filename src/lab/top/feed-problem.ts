import type { IncomingMessage } from 'node:http'
import { AdminError, failureOf } from '../../admin/api-client.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'
import { EventTooLongError } from './event-text.ts'

/** Describes why something else than events came. */
export async function refusalProblem(response: IncomingMessage, token = ''): Promise<string> {
  const { statusCode: status = 0 } = response
  const failure = foreignCell(await failureOf({ status, body: response }, token), 250)
  if (status === 401) {
    const what = token === '' ? 'needs a read token' : 'has another read token'
    return `${what}: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN`
  }
  if (status === 404) return 'shows no rules: no Squall admin port, or one without --rules'
  return status === 200 ? 'is no Squall admin port' : failure
}

/** Describes what is wrong with an event. */
export function eventProblem(error: unknown): string {
  if (error instanceof EventTooLongError || error instanceof AdminError) return error.message
  return 'sent something that is not understood'
}
