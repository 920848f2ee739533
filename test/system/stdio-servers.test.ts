// part: clients
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { playEverything } from '../interop/everything-scenario.ts'
import { type OpenClient, outcome } from '../support/wire.ts'
import { play } from './python-play.ts'
import { CLIENTS, EVERYTHING, twice } from './stdio-twice.ts'
import { systemTool } from './tools.ts'

const PYTHON_SERVER = [
  systemTool('venv/bin/python', 'The Python SDK'),
  fileURLToPath(new URL('./python_stdio_server.py', import.meta.url)),
]

/** Returns all that a client sees of the server of the Python SDK. */
async function playPythonServer(open: OpenClient, command: string) {
  const client = await open(command, 'stdio')
  const progress: unknown[] = []
  try {
    return {
      handshake: client.handshake(),
      tools: await client.listTools(),
      echo: await client.call('echo', { text: 'grüße 🌊' }),
      large: await client.call('echo', { text: '🌊'.repeat(50_000) }),
      structured: await client.call('add', { a: 2, b: 3 }),
      counted: await client.call(
        'count',
        { steps: 4 },
        { onprogress: (step) => progress.push(step) },
      ),
      progress: progress.slice(0, 3),
      failed: await client.call('fail'),
      unknownTool: await outcome(client.call('no-such-tool')),
      invalidArguments: await outcome(client.call('echo', {})),
    }
  } finally {
    await client.close()
  }
}

const ECHOED = { content: [{ type: 'text', text: 'grüße 🌊' }] }

describe('through squall stdio', () => {
  it.each(CLIENTS)('the reference server looks the same to the client of %s', async (_, open) => {
    const { direct, through } = await twice(EVERYTHING, (command) =>
      playEverything(open, JSON.stringify(command), 'stdio'),
    )
    expect(direct.tools.tools.length).toBeGreaterThan(10)
    expect(direct.echo).toMatchObject({ content: [{ text: 'Echo: grüße 🌊' }] })
    expect(direct.progress).toEqual([1, 2].map((step) => ({ progress: step, total: 3 })))
    expect(direct.received.map(({ method }) => method)).toEqual(
      expect.arrayContaining(['elicitation/create', 'sampling/createMessage', 'roots/list']),
    )
    expect(through).toEqual(direct)
  })

  it('the reference server looks the same to the client of the Python SDK', async () => {
    const { direct, through } = await twice(EVERYTHING, (command) =>
      play('everything', JSON.stringify(command), 'stdio'),
    )
    expect(direct['echo']).toMatchObject({ content: [{ text: 'Echo: grüße 🌊' }] })
    expect(direct['cancelled']).toBe('gave up')
    expect(direct.received.map(({ method }) => method)).toContain('elicitation/create')
    expect(through).toEqual(direct)
  })

  it.each(CLIENTS)('a Python server looks the same to the client of %s', async (_, open) => {
    const { direct, through } = await twice(PYTHON_SERVER, (command) =>
      playPythonServer(open, JSON.stringify(command)),
    )
    expect(direct.echo).toMatchObject(ECHOED)
    expect(direct.progress).toHaveLength(3)
    expect(direct.failed).toMatchObject({ isError: true })
    expect(through).toEqual(direct)
  })

  it('a Python server looks the same to the client of the Python SDK', async () => {
    const { direct, through } = await twice(PYTHON_SERVER, (command) =>
      play('stdio', JSON.stringify(command), 'stdio'),
    )
    expect(direct['echo']).toMatchObject(ECHOED)
    expect(direct['progress']).toHaveLength(3)
    expect(direct['failed']).toMatchObject({ isError: true })
    expect(through).toEqual(direct)
  })
})
