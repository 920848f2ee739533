import { type ClientTransport, type OpenClient, outcome, withoutChance } from '../support/wire.ts'

/** Does with the reference server what a host application does, and returns all that it saw. */
export async function playEverything(open: OpenClient, url: string, transport: ClientTransport) {
  const client = await open(url, transport)
  const progress: unknown[] = []
  try {
    const level = await client.setLevel('debug')
    // The server requests the roots a moment after the handshake, then logs that it has them.
    await client.received.until('notifications/message')
    const seen = {
      handshake: client.handshake(),
      level,
      tools: (await client.listTools()) as { tools: { name: string }[] },
      cancelled: await outcome(
        client.call(
          'trigger-long-running-operation',
          { duration: 2, steps: 1 },
          { signal: AbortSignal.timeout(20) },
        ),
      ),
      echo: await client.call('echo', { message: 'grüße 🌊' }),
      structured: await client.call('get-structured-content', { location: 'Chicago' }),
      long: await client.call(
        'trigger-long-running-operation',
        { duration: 1.5, steps: 3 },
        { onprogress: (step) => progress.push(step) },
      ),
      elicited: await client.call('trigger-elicitation-request'),
      sampled: await client.call('trigger-sampling-request', { prompt: 'hi', maxTokens: 5 }),
      unknownTool: await outcome(client.call('no-such-tool')),
      invalidArguments: await outcome(client.call('echo', {})),
      unknownResource: await outcome(client.readResource('demo://nowhere')),
    }
    const received = client.received.all.filter(({ method }) => !method.endsWith('list_changed'))
    await client.settled()
    const sessionEnd = await outcome(client.endSession())
    const afterEnd =
      transport === 'streamableHttp'
        ? await outcome(client.call('echo', { message: 'late' }))
        : undefined
    return withoutChance({
      ...seen,
      // The SDKs may overlook a last step that comes in one piece with the response.
      progress: progress.slice(0, 2),
      received,
      sessionEnd,
      afterEnd,
      heads: client.heads(),
    })
  } finally {
    await client.close()
  }
}
