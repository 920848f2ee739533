import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

/** The transports that the reference server offers over HTTP. */
export type EverythingMode = 'streamableHttp' | 'sse'

/** The reference server, running in a process of its own. */
export interface Everything {
  readonly origin: string
  /** Where a client connects. */
  readonly url: string
  readonly pid: number
  /** Ends the process and resolves when it is gone. */
  stop(): Promise<void>
}

const program = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
)
const preload = new URL('./bind-loopback.mjs', import.meta.url).href
const startMs = 15_000

/** Starts the reference server on a free port of the loopback interface. */
export async function referenceServer(mode: EverythingMode): Promise<Everything> {
  const child = spawn(process.execPath, ['--import', preload, program, mode], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const exited = once(child, 'exit')
  let complaints = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (text: string) => {
    complaints = (complaints + text).slice(-4096)
  })

  const stop = async (): Promise<void> => {
    // A session's open streams keep the program alive after a polite signal.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  }

  try {
    const port = await Promise.race([
      reportedPort(once(child, 'message', { signal: AbortSignal.timeout(startMs) })),
      exited.then(() => Promise.reject(new Error(`server-everything ended: ${complaints}`))),
    ])
    await accepts(port)
    const origin = `http://127.0.0.1:${port}`
    const url = `${origin}${mode === 'sse' ? '/sse' : '/mcp'}`
    return { origin, url, pid: child.pid ?? -1, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function reportedPort(message: Promise<unknown[]>): Promise<number> {
  const [report] = await message
  return (report as { port: number }).port
}

async function accepts(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.destroy()
}
