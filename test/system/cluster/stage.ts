import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { HELM } from '../helm.ts'
import { asker } from '../pod-network.ts'
import type { CommandRun } from './namespaces.ts'
import { clusterProgram } from './programs.ts'
import { createQuestions, type Questions } from './questions.ts'
import type { Cluster } from './start-cluster.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PROGRAM = process.env['SQUALL_PROGRAM'] ?? `${ROOT}dist/cli/main.js`
const CLIENT = `${ROOT}test/system/pod-client.mjs`

/** A client outside of all pods. */
export interface OutsideClient {
  /** Connects the MCP client; the result are the tools, or why there are none. */
  connect(url: string): Promise<unknown>
  call(tool: string, args: object): Promise<string>
  get(url: string): Promise<Got>
  /** Calls a tool, without a session. */
  post(url: string, tool: string): Promise<Got>
}

/** The response to a request for a page; `marker` describes the fault. */
export interface Got {
  readonly status: number
  readonly marker: string | null
  readonly text: string
}

/** The tools of a user: the program, Helm, kubectl and clients. */
export interface Stage extends Questions {
  squall(...args: readonly string[]): Promise<CommandRun>
  squallWith(input: string, ...args: readonly string[]): Promise<CommandRun>
  /** Starts the program; whoever starts it waits for its end. */
  squallChild(...args: readonly string[]): ChildProcess
  helm(...args: readonly string[]): Promise<CommandRun>
  client(): OutsideClient
  /** Forwards a free port of this machine's inner network; resolves with it. */
  portForward(namespace: string, what: string, port: number): Promise<Forward>
  /** Follows the log of a container from its beginning to its end. */
  followLog(namespace: string, pod: string, container: string): Promise<string>
}

/** A port that leads into a pod. */
export interface Forward {
  readonly port: number
  end(): Promise<void>
}

/** Sets it up for a cluster. */
export function createStage(cluster: Cluster): Stage {
  const spawnUser = (program: string, ...args: readonly string[]): ChildProcess =>
    cluster.namespaces.spawnUser(program, ['--kubeconfig', cluster.kubeconfig, ...args])
  const squallWith = (input: string, ...args: readonly string[]): Promise<CommandRun> =>
    cluster.user(process.execPath, [PROGRAM, ...args], { input })
  return {
    ...createQuestions(cluster),
    squall: (...args) => squallWith('', ...args),
    squallWith,
    squallChild: (...args) => cluster.namespaces.spawnUser(process.execPath, [PROGRAM, ...args]),
    helm: (...args) => cluster.user(HELM, args),
    client: () => {
      const ask = asker(cluster.namespaces.spawnUser(process.execPath, [CLIENT], true))
      return {
        connect: (url) => ask('connect', { url }),
        call: (tool, args) => ask('call', { tool, args }) as Promise<string>,
        get: (url) => ask('probe', { url }) as Promise<Got>,
        post: (url, tool) => ask('post', { url, tool }) as Promise<Got>,
      }
    },
    portForward: async (namespace, what, port) => {
      const child = spawnUser(
        clusterProgram('kubectl'),
        'port-forward',
        '-n',
        namespace,
        what,
        `:${port}`,
      )
      let told = ''
      child.stderr?.on('data', (text) => (told += String(text)))
      const gone = once(child, 'exit')
      const [line] = (await Promise.race([
        once(child.stdout!, 'data'),
        gone.then(() => {
          throw new Error(`port-forward: ${told}`)
        }),
      ])) as [unknown]
      return {
        port: Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]),
        end: async () => {
          child.kill()
          await gone
        },
      }
    },
    followLog: async (namespace, pod, container) => {
      const args = ['logs', '-f', '-n', namespace, pod, '-c', container]
      const child = spawnUser(clusterProgram('kubectl'), ...args)
      let text = ''
      child.stdout?.on('data', (part) => (text += String(part)))
      await once(child, 'close')
      return text
    },
  }
}
