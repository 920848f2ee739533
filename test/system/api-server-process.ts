import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../support/wire.ts'
import { builtTool } from './helm.ts'

const run = promisify(execFile)
const API_SERVER = builtTool('kube-apiserver', process.env['SQUALL_KUBE_APISERVER'])
const ETCD = builtTool('etcd', process.env['SQUALL_ETCD'])
const STARTS_WITHIN = 90_000
const ATTEMPTS = 3

/** The result of a command. */
export interface CommandRun {
  readonly ok: boolean
  readonly text: string
}

/** A real API server on loopback, without nodes and controllers. */
export interface ApiServer {
  readonly kubeconfig: string
  /** Runs kubectl, or helm, as its administrator; `input` goes to standard input. */
  run(program: string, args: readonly string[], input?: string): Promise<CommandRun>
  /** The file of a kubeconfig for whoever has this token. */
  kubeconfigFor(token: string): string
  /** Kills the API server, and starts it again on the same etcd; resolves before it is ready. */
  restart(): Promise<void>
  /** The process of the API server. */
  pid(): number
  /** Sends a signal to the API server, as to freeze it. */
  signal(signal: NodeJS.Signals): void
  close(): Promise<void>
}

/** Returns what is missing to start an API server; undefined if nothing is. */
export function apiServerMissing(): string | undefined {
  for (const [program, args] of [
    [API_SERVER, ['--version']],
    [ETCD, ['--version']],
    ['kubectl', ['version', '--client']],
  ] as const) {
    try {
      execFileSync(program, args, { stdio: 'ignore' })
    } catch {
      return `${program} is not there: sh test/system/cluster/tools/build.sh builds what is missing`
    }
  }
  return undefined
}

/** Starts etcd and an API server that asks it, which gets these flags, too. */
export async function controlPlane(flags: readonly string[] = []): Promise<ApiServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(flags)
    } catch (error) {
      // The ports are known beforehand, so somebody else may have taken one meanwhile.
      if (attempt === ATTEMPTS || !(error instanceof EndedError)) throw error
    }
  }
}

/** One of the programs has ended by itself. */
class EndedError extends Error {}

async function start(flags: readonly string[]): Promise<ApiServer> {
  const directory = mkdtempSync(join(tmpdir(), 'squall-api-server-'))
  const token = randomBytes(16).toString('hex')
  const [port, client, peer] = [await freePort(), await freePort(), await freePort()]
  // Nothing that is asked here may go by a proxy.
  const env = { PATH: process.env['PATH'], HOME: directory, NO_PROXY: '*' }
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 })
    return join(directory, name)
  }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = file('sa.key', privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const tokens = file('tokens.csv', `${token},admin,admin,system:masters\n`)
  const kubeconfigFor = (bearer: string): string =>
    file(
      `${bearer.slice(-12)}.kubeconfig`,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'c',
            cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
          },
        ],
        users: [{ name: 'u', user: { token: bearer } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'c',
      }),
    )
  const kubeconfig = kubeconfigFor(token)
  const etcdUrl = `http://127.0.0.1:${client}`
  const peerUrl = `http://127.0.0.1:${peer}`
  const etcd = spawn(
    ETCD,
    [
      `--data-dir=${join(directory, 'etcd')}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
    ],
    { env, stdio: 'ignore' },
  )
  const startServer = (): ChildProcess =>
    spawn(
      API_SERVER,
      [
        `--etcd-servers=${etcdUrl}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${port}`,
        `--cert-dir=${directory}`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${key}`,
        `--service-account-key-file=${key}`,
        `--token-auth-file=${tokens}`,
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.0.0.0/24',
        '--endpoint-reconciler-type=none',
        // Nobody makes service accounts here.
        '--disable-admission-plugins=ServiceAccount',
        ...flags,
      ],
      { env, stdio: 'ignore' },
    )
  const children = [etcd, startServer()]
  const close = async (): Promise<void> => {
    for (const child of children.toReversed()) await end(child)
    rmSync(directory, { recursive: true, force: true })
  }
  const server: ApiServer = {
    kubeconfig,
    kubeconfigFor,
    close,
    restart: async () => {
      await end(children[1]!)
      children[1] = startServer()
    },
    pid: () => children[1]!.pid!,
    signal: (signal) => void children[1]!.kill(signal),
    run: async (program, args, input) => {
      const asked = run(program, args, {
        env: { ...env, KUBECONFIG: kubeconfig },
        maxBuffer: 64 * 1024 * 1024,
      })
      asked.child.stdin?.end(input ?? '')
      try {
        const { stdout, stderr } = await asked
        return { ok: true, text: `${stdout}${stderr}` }
      } catch (error) {
        const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
        return { ok: false, text: `${stdout}${stderr}` }
      }
    },
  }
  try {
    const until = performance.now() + STARTS_WITHIN
    // The namespace is made once the server runs, and that is no part of being ready.
    for (const question of [
      ['--raw', '/readyz'],
      ['namespace', 'default'],
    ]) {
      for (;;) {
        const { ok, text } = await server.run('kubectl', ['get', ...question])
        if (ok) break
        if (children.some(hasEnded)) throw new EndedError(`etcd or the API server ended: ${text}`)
        if (performance.now() > until) throw new Error(text)
        await sleep(250)
      }
    }
    return server
  } catch (error) {
    await close()
    throw error
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
