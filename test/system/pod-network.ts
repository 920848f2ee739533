import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PROGRAM =
  process.env['SQUALL_PROGRAM'] ?? fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const PEER = readFileSync(new URL('./net-peer.mjs', import.meta.url), 'utf8')

/** Where the pod and what is outside of it are. */
export const ADDRESSES = {
  pod: ['10.77.0.2', 'fd77::2'],
  outside: ['10.77.0.1', 'fd77::1'],
} as const

/** Runs a program with the group of the sidecar, and as the same user. */
export const EXEMPT = ['setpriv', '--regid', '15390', '--clear-groups'] as const

/** The exit code and output of a program. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A process in a namespace that serves or calls. */
export interface Peer {
  serve(host: string, port: number): Promise<void>
  /** The text of the response to the call, or the error's code. */
  call(host: string, port: number, client?: string): Promise<string>
  /** Returns the number of requests that it has responded to. */
  asked(): Promise<number>
  /** Listens for TCP, and sends each client the address that it has reached. */
  greet(port: number): Promise<void>
  /** Listens for captured connections to a port, and connects to their destinations. */
  relay(port: number, target: number): Promise<void>
  /** Connects by TCP, also from a port; returns the text that came, or the error's code. */
  reach(host: string, port: number, from?: number): Promise<string>
  /** Connects many times; returns how often each text came. */
  reachOften(host: string, port: number, times: number): Promise<unknown>
}

/**
 * Two network namespaces with a link between them: one is the pod's, in the other are its clients.
 */
export interface PodNetwork {
  /** Runs a program in the pod's namespace to its end. */
  run(program: string, ...args: readonly string[]): Promise<Ran>
  /** Runs the built program there. */
  squall(...args: readonly string[]): Promise<Ran>
  /** Starts the built program there; resolves when it listens. */
  start(...args: readonly string[]): Promise<void>
  /** Starts it with the group whose connections are not captured. */
  startExempt(...args: readonly string[]): Promise<void>
  peer(place: 'pod' | 'outside', prefix?: readonly string[]): Promise<Peer>
  /** Starts a script of Node, which takes messages. */
  script(place: 'pod' | 'outside', ...args: readonly string[]): ChildProcess
  /** Adds an address outside, and a route to it in the pod. */
  addOutside(address: string): Promise<void>
  /** Where the pod's namespace is. */
  readonly path: string
  close(): Promise<void>
}

let networks = 0

/** Fails with what to do where namespaces cannot be made. */
export async function needsNetworks(...programs: readonly string[]): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('this test makes network namespaces: run it as root on Linux')
  }
  for (const program of programs) {
    await run('sh', ['-c', 'command -v "$0"', program]).catch(() => {
      throw new Error(
        `${program} is missing: apt-get install iproute2 nftables podman buildah runc conmon catatonit`,
      )
    })
  }
}

/** Makes the namespaces. Nothing outside of them is changed. */
export async function podNetwork(): Promise<PodNetwork> {
  await needsNetworks('ip', 'nft')
  const own = `${process.pid}-${++networks}`
  const name = { pod: `squall-pod-${own}`, outside: `squall-out-${own}` }
  const ip = (...args: readonly string[]): Promise<unknown> => run('ip', args)
  const children: ChildProcess[] = []

  const inside = (place: 'pod' | 'outside', prefix: readonly string[], args: readonly string[]) => [
    'netns',
    'exec',
    name[place],
    ...prefix,
    ...args,
  ]

  async function runIn(program: string, args: readonly string[]): Promise<Ran> {
    try {
      const { stdout, stderr } = await run('ip', inside('pod', [], [program, ...args]))
      return { code: 0, stdout, stderr }
    } catch (error) {
      const { code, stdout, stderr } = error as Ran
      return { code, stdout, stderr }
    }
  }

  function script(
    place: 'pod' | 'outside',
    prefix: readonly string[],
    args: readonly string[],
  ): ChildProcess {
    const child = spawn('ip', inside(place, prefix, [process.execPath, ...args]), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    children.push(child)
    return child
  }

  function started(prefix: readonly string[], args: readonly string[]): Promise<void> {
    const command = inside('pod', prefix, [process.execPath, PROGRAM, 'run', ...args])
    const child = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    return new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`squall run ended with ${code}`)))
      child.stdout.on('data', (text) => String(text).includes('"listening"') && resolve())
    })
  }

  for (const place of ['pod', 'outside'] as const) await ip('netns', 'add', name[place])
  const veth = ['link', 'add', 'eth0', 'netns', name.pod, 'type', 'veth', 'peer', 'name', 'eth0']
  await ip(...veth, 'netns', name.outside)
  for (const place of ['pod', 'outside'] as const) {
    const [v4, v6] = ADDRESSES[place]
    await ip('-n', name[place], 'addr', 'add', `${v4}/24`, 'dev', 'eth0')
    await ip('-n', name[place], 'addr', 'add', `${v6}/64`, 'dev', 'eth0', 'nodad')
    for (const device of ['lo', 'eth0']) await ip('-n', name[place], 'link', 'set', device, 'up')
  }

  return {
    run: (program, ...args) => runIn(program, args),
    squall: (...args) => runIn(process.execPath, [PROGRAM, ...args]),
    start: (...args) => started([], args),
    startExempt: (...args) => started(EXEMPT, args),
    // As an argument: a user that may not read this directory can run it, too.
    peer: async (place, prefix = []) =>
      peerOf(script(place, prefix, ['--input-type=module', '-e', PEER])),
    script: (place, ...args) => script(place, [], args),
    addOutside: async (address) => {
      const rest = address.includes(':') ? ['nodad'] : []
      await ip('-n', name.outside, 'addr', 'add', address, 'dev', 'eth0', ...rest)
      await ip('-n', name.pod, 'route', 'add', address, 'dev', 'eth0')
    },
    path: `/run/netns/${name.pod}`,
    close: async () => {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        child.kill('SIGKILL')
        await new Promise((resolve) => child.once('exit', resolve))
      }
      for (const place of ['pod', 'outside'] as const) await ip('netns', 'del', name[place])
    },
  }
}

function peerOf(child: ChildProcess): Peer {
  const ask = asker(child)
  return {
    serve: async (host, port) => void (await ask('serve', { host, port })),
    call: async (host, port, client) => String(await ask('call', { host, port, client })),
    asked: async () => Number(await ask('asked', {})),
    greet: async (port) => void (await ask('greet', { port })),
    relay: async (port, target) => void (await ask('relay', { port, target })),
    reach: async (host, port, from) =>
      Object.keys(Object(await ask('reach', { host, port, from, times: 1 }))).join(),
    reachOften: (host, port, times) => ask('reach', { host, port, times }),
  }
}

/** Asks a script for one thing at a time or many, by messages. */
export function asker(child: ChildProcess): (operation: string, given: object) => Promise<unknown> {
  let ids = 0
  const waiting = new Map<number, (response: unknown) => void>()
  child.on('message', (message) => {
    const { id, response } = message as { id: number; response: unknown }
    waiting.get(id)?.(response)
    waiting.delete(id)
  })
  child.once('exit', () => {
    for (const response of waiting.values()) response('the script ended')
  })
  return (operation, given) =>
    new Promise((resolve) => {
      const id = ++ids
      waiting.set(id, resolve)
      child.send({ id, operation, ...given })
    })
}
