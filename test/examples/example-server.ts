import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

/** The server that comes with the examples. The tests of a file share its process. */
export interface ExampleServer {
  readonly origin: string
  /** How often the server executed a tool since it was asked for. */
  executed(tool: string): Promise<number>
}

interface ServerProcess {
  readonly origin: string
  close(): Promise<void>
}

const program = fileURLToPath(new URL('../../examples/server.mjs', import.meta.url))

/** Starts servers, one for equal flags; they end with the test file. Call once at the top of a file. */
export function exampleServers(): (flags: readonly string[]) => Promise<ExampleServer> {
  const running = new Map<string, Promise<ServerProcess>>()
  afterAll(async () => {
    for (const each of running.values()) await (await each).close()
  })
  return async (flags) => {
    const key = flags.join(' ')
    const found = running.get(key) ?? startServer(flags)
    running.set(key, found)
    const { origin } = await found
    const counts = async (): Promise<Readonly<Record<string, number>>> =>
      (await (await fetch(`${origin}/executed`)).json()) as Record<string, number>
    const before = await counts()
    return {
      origin,
      executed: async (tool) => ((await counts())[tool] ?? 0) - (before[tool] ?? 0),
    }
  }
}

async function startServer(flags: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program, ...flags], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  child.stdout.setEncoding('utf8')
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    exited.then(() => Promise.reject(new Error('the server of the examples ended'))),
  ])) as [string]
  const { origin } = new URL(line.trim())
  return {
    origin,
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
