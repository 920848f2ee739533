import { fileURLToPath } from 'node:url'
import { startProgram } from '../support/commands.ts'

/** The server that comes with the examples, in a process of its own. */
export interface ExampleServer {
  readonly origin: string
  /** Returns the number of executions of each tool. */
  readonly executed: () => Promise<Readonly<Record<string, number>>>
  close(): Promise<void>
}

const script = fileURLToPath(new URL('../../examples/server.mjs', import.meta.url))

/** Starts the server with flags of its own. */
export async function exampleServer(flags: readonly string[]): Promise<ExampleServer> {
  const server = startProgram([script, ...flags], { PORT: '0' }, { program: process.execPath })
  const { origin } = new URL(await server.firstLine())
  return {
    origin,
    executed: async () =>
      (await (await fetch(`${origin}/executed`)).json()) as Record<string, number>,
    close: () => server.kill(),
  }
}
