import type { McpSubscription } from '@modelcontextprotocol/client'
import {
  type InteropClient,
  type InteropClientV2,
  type ModernServer,
  type OpenClient,
  outcome,
  withoutChance,
} from '../support/wire.ts'

const logLevel = { 'io.modelcontextprotocol/logLevel': 'debug' }

/**
 * Does what clients of all protocol versions can do with the modern server, and returns what was
 * seen.
 */
export async function playModern(open: OpenClient, url: string, server: ModernServer) {
  const client = await open(url, 'streamableHttp')
  try {
    const seen = await callTools(client)
    await client.settled()
    return withoutChance({
      ...seen,
      received: client.received.all,
      heads: client.heads(),
      requests: server.requests.take(url),
    })
  } finally {
    await client.close()
  }
}

/** Does also what came with protocol version 2026-07-28. */
export async function playNewest(
  open: (url: string, transport: 'streamableHttp') => Promise<InteropClientV2>,
  url: string,
  server: ModernServer,
) {
  const client = await open(url, 'streamableHttp')
  try {
    const seen = await callTools(client)
    const asked = await client.call('ask')
    const { cancelled, serverSaw } = await cancelCall(client, server)
    const subscription = await client.listen()
    const closed = await changeTools(client, subscription)
    await client.settled()
    return withoutChance({
      ...seen,
      asked,
      cancelled,
      serverSaw,
      honoured: subscription.honoredFilter,
      closed,
      received: client.received.all,
      heads: client.heads(),
      requests: server.requests.take(url),
    })
  } finally {
    await client.close()
  }
}

async function callTools(client: InteropClient) {
  const progress: unknown[] = []
  const onprogress = (step: unknown): void => void progress.push(step)
  return {
    handshake: client.handshake(),
    tools: (await client.listTools()) as { tools: { name: string }[] },
    echo: await client.call('echo', { message: 'grüße 🌊' }),
    structured: await client.call('add', { a: 2, b: 3 }),
    counted: await client.call('count', { steps: 4 }, { onprogress }),
    // The SDKs may overlook a last step that comes in one piece with the response.
    progress: progress.slice(0, 3),
    foreign: await client.getPrompt('日本'),
    chat: await client.call('chat', {}, { meta: logLevel }),
    failed: await client.call('fail'),
    unknownTool: await outcome(client.call('no-such-tool')),
    invalidArguments: await outcome(client.call('echo', {})),
  }
}

async function cancelCall(client: InteropClient, server: ModernServer) {
  const abort = new AbortController()
  const waiting = server.waiting()
  const serverSaw = server.cancelled().then(() => 'the cancellation')
  const call = outcome(client.call('wait', {}, { signal: abort.signal }))
  await waiting
  abort.abort(new Error('no longer wanted'))
  return { cancelled: await call, serverSaw: await serverSaw }
}

async function changeTools(client: InteropClient, subscription: McpSubscription): Promise<string> {
  await client.call('announce')
  await client.received.until('notifications/tools/list_changed')
  await subscription.close()
  return subscription.closed
}
