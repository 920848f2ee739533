import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
const FIXTURE = fileURLToPath(new URL('../../fixtures/stdio-server.mjs', import.meta.url))

/** The fixture server as a command. */
export const FIXTURE_COMMAND = [process.execPath, FIXTURE]

/** Returns `squall stdio` with options, in front of a server. */
export function throughSquall(options: readonly string[], server = FIXTURE_COMMAND): string[] {
  return [process.execPath, MAIN, 'stdio', ...options, '--', ...server]
}

/** Returns true while there is a process of this id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Writes a rules file, and returns its path. */
export function rulesFile(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'squall-stdio-')), 'rules.yaml')
  writeFileSync(path, text)
  return path
}

const INFO = { name: 'stdio', version: '1.0.0' }
const OPTIONS = { capabilities: { roots: {} } }
const ROOTS = { roots: [{ uri: 'file:///a' }] }

/** A client of an SDK, connected by stdio. */
export interface StdioClient {
  call(name: string, args?: Record<string, unknown>, onprogress?: () => unknown): Promise<unknown>
  listTools(): Promise<unknown>
  close(): Promise<void>
  /** Resolves when the pipe of the server has closed. */
  readonly closed: Promise<void>
  readonly pid: number
  stderr(): string
}

async function sdkV1() {
  return {
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await import('@modelcontextprotocol/sdk/types.js')),
  }
}

async function sdkV2() {
  return {
    ...(await import('@modelcontextprotocol/client')),
    ...(await import('@modelcontextprotocol/client/stdio')),
  }
}

/** Connects a client of SDK v1 or v2 with a command. */
export async function stdioClient(
  sdk: 'v1' | 'v2',
  [command = '', ...args]: readonly string[],
): Promise<StdioClient> {
  const how = { command, args, stderr: 'pipe' as const }
  let stderr = ''
  let hasClosed = (): void => undefined
  const closed = new Promise<void>((resolve) => (hasClosed = resolve))
  const heard = (stream: NodeJS.EventEmitter | null): void =>
    void stream?.on('data', (text: Buffer) => (stderr += text.toString()))
  const timeout = 20_000
  if (sdk === 'v1') {
    const { Client, StdioClientTransport, ListRootsRequestSchema } = await sdkV1()
    const client = new Client(INFO, OPTIONS)
    client.setRequestHandler(ListRootsRequestSchema, () => ROOTS)
    const transport = new StdioClientTransport(how)
    heard(transport.stderr)
    Object.assign(client, { onclose: hasClosed })
    await client.connect(transport)
    return {
      call: (name, input = {}, onprogress = () => undefined) =>
        client.callTool({ name, arguments: input }, undefined, { timeout, onprogress }),
      listTools: () => client.listTools(),
      close: () => client.close(),
      closed,
      pid: transport.pid ?? -1,
      stderr: () => stderr,
    }
  }
  const { Client, StdioClientTransport } = await sdkV2()
  const client = new Client(INFO, OPTIONS)
  client.setRequestHandler('roots/list', () => ROOTS)
  const transport = new StdioClientTransport(how)
  heard(transport.stderr)
  Object.assign(client, { onclose: hasClosed })
  await client.connect(transport)
  return {
    call: (name, input = {}, onprogress = () => undefined) =>
      client.callTool({ name, arguments: input }, { timeout, onprogress }),
    listTools: () => client.listTools(),
    close: () => client.close(),
    closed,
    pid: transport.pid ?? -1,
    stderr: () => stderr,
  }
}

/** Calls the tool of the fixture with each text at once; returns how long each call took. */
export async function timesOfCalls(
  { call }: Pick<StdioClient, 'call'>,
  texts: readonly string[],
): Promise<readonly number[]> {
  const since = performance.now()
  return Promise.all(
    texts.map((text) => call('echo', { text }).then(() => performance.now() - since)),
  )
}
