import {
  type InteropClient,
  type OpenClient,
  outcome,
  type SessionServer,
  withoutChance,
} from '../support/wire.ts'

/** Loses streams, cancels a call and ends the session, and returns what both sides saw. */
export async function playSession(open: OpenClient, url: string, server: SessionServer) {
  const client = await open(url, 'streamableHttp')
  try {
    const before = { resumptions: server.resumptions, ended: server.host.ended }
    const seen = {
      ended: await client.call('end the stream'),
      cut: await cutOff(client, server),
      ...(await cancelCall(open, url, server)),
    }
    await client.settled()
    const received = client.received.all
    const sessionEnd = await outcome(client.endSession())
    const afterEnd = await outcome(client.call('wait'))
    return withoutChance({
      ...seen,
      received,
      sessionEnd,
      afterEnd,
      resumptions: server.resumptions - before.resumptions,
      sessionsEnded: server.host.ended - before.ended,
      heads: client.heads().filter((head) => !isResumedAfterEnd(head)),
      requests: server.host.requests.take(url).filter((head) => !isResumedAfterEnd(head)),
    })
  } finally {
    await client.close()
  }
}

/**
 * Returns true for an attempt to resume the stream of a session that has ended: the SDK v1 client
 * makes one without a session after a pause, so that chance decides whether it is seen.
 */
function isResumedAfterEnd(head: object): boolean {
  const { request, status, headers } = head as {
    request?: string
    status?: number
    headers: Record<string, unknown>
  }
  if (request !== 'GET /mcp') return false
  return status === undefined ? headers['mcp-session-id'] === undefined : status >= 400
}

async function cutOff(client: InteropClient, server: SessionServer): Promise<unknown> {
  const call = client.call('be cut off')
  // The two messages of the call before, and the first of this one.
  await client.received.until('notifications/message', 3)
  server.host.cutResponses()
  return call
}

async function cancelCall(open: OpenClient, url: string, server: SessionServer) {
  const client = await open(url, 'streamableHttp')
  const abort = new AbortController()
  const waiting = server.waiting()
  const serverSaw = server.cancelled().then(() => 'the cancellation')
  const call = outcome(client.call('wait', {}, { signal: abort.signal }))
  await waiting
  abort.abort(new Error('no longer wanted'))
  const cancelled = await call
  const result = { cancelled, serverSaw: await serverSaw, ping: await client.listTools() }
  await client.close()
  return result
}
