import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { heapOption } from '../../../packages/kubernetes/src/injector/sidecar-resources.ts'

/** The sidecar in its own process, so that its memory and sockets are separate from the test's. */
export interface SidecarProcess {
  readonly pid: number
  readonly port: number
  /** Resident memory in bytes. */
  rss(): number
  /** Returns the number of its open sockets, listening sockets included. */
  sockets(): number
  /** Address of its admin port. */
  readonly admin: string
  /** Resolves to its exit code, or to the signal that ended it. */
  readonly ended: Promise<number | string | null>
  metrics(): Promise<string>
  stop(): Promise<number | null>
}

const PROGRAM = new URL('../../../dist/cli/main.js', import.meta.url).pathname

/** The memory that `squall inject` gives a sidecar. */
export const INJECTED_LIMIT = 256 * 1024 * 1024
/** The options of Node by which an injected sidecar keeps within it. */
export const INJECTED_NODE_OPTIONS = heapOption(String(INJECTED_LIMIT))

/** Flags and environment of the process. */
export interface ProcessSetup {
  readonly flags?: readonly string[]
  readonly nodeOptions?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Starts the built program in front of an upstream; called by `startSidecar`. */
export async function sidecarProcess(
  upstream: string,
  { flags = [], nodeOptions = '', env = {} }: ProcessSetup,
): Promise<SidecarProcess> {
  const args = [
    'run',
    '--listen',
    '127.0.0.1:0',
    '--admin',
    '127.0.0.1:0',
    '--upstream',
    upstream,
    ...flags,
  ]
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, NODE_OPTIONS: nodeOptions },
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  const pid = child.pid!
  const ports = new Map<string, number>()
  const lines = createInterface({ input: child.stdout })
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the sidecar ended with ${code}`)))
    lines.on('line', (line) => {
      const { msg, address } = JSON.parse(line) as { msg: string; address?: string }
      // Listeners for outgoing connections come after the one for clients.
      if (address === undefined || ports.has(msg)) return
      ports.set(msg, Number(address.slice(address.lastIndexOf(':') + 1)))
      if (ports.size === 2) resolve()
    })
  })
  const admin = `http://127.0.0.1:${ports.get('admin listening')!}`
  return {
    pid,
    port: ports.get('listening')!,
    admin,
    ended,
    rss: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024,
    sockets: () => countSockets(pid),
    metrics: async () =>
      (await fetch(`${admin}/metrics`, { headers: { connection: 'close' } })).text(),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      child.kill('SIGTERM')
      await ended
      return child.exitCode
    },
  }
}

function countSockets(pid: number): number {
  let count = 0
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')) count++
    } catch {
      // Closed since the directory was read.
    }
  }
  return count
}
