import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The server that comes with the examples, in a process of its own. */
export interface ExampleServer {
  readonly origin: string
  /** How often the server executed a tool. */
  executed(tool: string): Promise<number>
  close(): Promise<void>
}

const program = fileURLToPath(new URL('../../examples/server.mjs', import.meta.url))

/** Starts it on a free port. */
export async function startExampleServer(flags: readonly string[]): Promise<ExampleServer> {
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
    async executed(tool) {
      const counts = (await (await fetch(`${origin}/executed`)).json()) as Record<string, number>
      return counts[tool] ?? 0
    },
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
