import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCgroup, PREFIX, removeCgroup, sweepCgroups } from './cgroups.ts'

const run = promisify(execFile)
const MANY = 64 * 1024 * 1024

/** The result of a command. */
export interface CommandRun {
  readonly ok: boolean
  /** Standard output, then standard error. */
  readonly text: string
  readonly out: string
}

/** The options for running a command. */
export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Goes to standard input. */
  readonly input?: string
  readonly timeoutMs?: number
}

/** A machine within this one: network, mounts and processes of its own. */
export interface Namespaces {
  /** Seen from inside and outside; gone after the end. */
  readonly directory: string
  /** In memory, seen from inside only. */
  readonly state: string
  /** Name of the cgroup below which everything of kubelet's is. */
  readonly cgroup: string
  /** Starts a service; what it writes goes to `log/NAME.log`. */
  start(name: string, program: string, args: readonly string[]): void
  /** Services that have ended, which none of them should. */
  ended(): readonly string[]
  /** Runs a command to its end with all of its namespaces. */
  inside(program: string, args: readonly string[], options?: CommandOptions): Promise<CommandRun>
  /** Runs a command of a user: its network, with the files and processes of this machine. */
  user(program: string, args: readonly string[], options?: CommandOptions): Promise<CommandRun>
  /**
   * Starts a command of a user. Whoever starts it also ends it; the namespaces' end does so, too.
   */
  spawnUser(program: string, args: readonly string[], isPeer?: boolean): ChildProcess
  log(name: string): Promise<string>
  close(): Promise<void>
}

// The first process of the inner machine. When its input closes, which the end of the test does in
// any case, it ends, and the kernel ends all other processes there and undoes mounts and network.
const FIRST = `
set -e
for directory in /run /var/log "$1"; do mount -t tmpfs -o mode=755 tmpfs "$directory"; done
[ ! -d /var/lib/kubelet ] || mount -t tmpfs tmpfs /var/lib/kubelet
mkdir -p /run/netns /run/lock
# Kubelet wants settings of the kernel, and would change them for all: it finds what it wants.
cover() { [ ! -e "/proc/sys/$1" ] || { echo "$2" >"/run/lock/cover" && cp /run/lock/cover "/run/lock/$3" && mount --bind "/run/lock/$3" "/proc/sys/$1"; }; }
cover vm/overcommit_memory 1 a
cover vm/panic_on_oom 0 b
cover kernel/panic 10 c
cover kernel/panic_on_oops 1 d
cover kernel/keys/root_maxkeys 1000000 e
cover kernel/keys/root_maxbytes 25000000 f
ip link set lo up
echo ready
read -r _ || :
`

/** Makes it. Nothing of it is left when the test ends, however it ends. */
export async function makeNamespaces(): Promise<Namespaces> {
  await sweepCgroups()
  await sweepDirectories()
  const cgroup = `${PREFIX}${process.pid}`
  const directory = await mkdtemp(join(tmpdir(), `${cgroup}-`))
  const state = join(directory, 'state')
  await mkdir(state)
  await mkdir(join(directory, 'log'))
  await makeCgroup(cgroup)
  const flags = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const holder = spawn('unshare', [...flags, 'sh', '-c', FIRST, 'cluster', state], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(holder, 'exit')
  const services = new Map<string, ChildProcess>()

  async function close(): Promise<void> {
    holder.stdin.end()
    await gone
    for (const child of services.values()) {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
    await removeCgroup(cgroup)
    await rm(directory, { recursive: true, force: true })
  }

  await Promise.race([
    once(holder.stdout, 'data'),
    gone.then(() => {
      throw new Error('namespaces cannot be made here')
    }),
  ]).catch(async (error: unknown) => {
    await close()
    throw error
  })
  const children = await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')
  const first = children.trim()
  const all = ['--target', first, '--net', '--mount', '--pid', '--']
  const network = ['--target', first, '--net', '--']

  async function command(
    args: readonly string[],
    { env, input = '', timeoutMs = 120_000 }: CommandOptions = {},
  ): Promise<CommandRun> {
    const asked = run('nsenter', args, {
      env: { ...process.env, ...env },
      maxBuffer: MANY,
      timeout: timeoutMs,
    })
    asked.child.stdin?.on('error', () => undefined).end(input)
    try {
      const { stdout, stderr } = await asked
      return { ok: true, text: `${stdout}${stderr}`, out: stdout }
    } catch (error) {
      const {
        stdout = '',
        stderr = '',
        message,
      } = error as Partial<Error & CommandRun> & {
        stdout?: string
        stderr?: string
      }
      return { ok: false, text: `${stdout}${stderr}` || String(message), out: stdout }
    }
  }

  return {
    directory,
    state,
    cgroup,
    start: (name, program, args) => {
      const log = openSync(join(directory, 'log', `${name}.log`), 'a')
      const child = spawn('nsenter', [...all, program, ...args], { stdio: ['ignore', log, log] })
      closeSync(log)
      services.set(name, child)
    },
    ended: () =>
      [...services].filter(([, { exitCode }]) => exitCode !== null).map(([name]) => name),
    inside: (program, args, options) => command([...all, program, ...args], options),
    user: (program, args, options) => command([...network, program, ...args], options),
    spawnUser: (program, args, isPeer = false) => {
      const child = spawn('nsenter', [...network, program, ...args], {
        stdio: isPeer ? ['ignore', 'inherit', 'inherit', 'ipc'] : ['ignore', 'pipe', 'pipe'],
      })
      services.set(`user-${child.pid}`, child)
      return child
    },
    log: (name) => readFile(join(directory, 'log', `${name}.log`), 'utf8').catch(() => ''),
    close: async () => {
      // User programs run in namespaces that do not end by themselves.
      for (const [name, child] of services) if (name.startsWith('user-')) child.kill('SIGKILL')
      await close()
    },
  }
}

/** Removes the directories of tests that were killed. */
async function sweepDirectories(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : undefined
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}
