import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import { inParallel } from '../../packages/kubernetes/src/kube/in-parallel.ts'
import type { KubeClient } from '../../packages/kubernetes/src/kube/kube-client.ts'
import { NODES, PODS } from '../../packages/kubernetes/src/kube/resources.ts'
import { injectedPod } from '../support/cluster/shop.ts'
import { closeStack } from '../support/closers.ts'
import { controlPlane, type ApiServer } from './api-server-process.ts'
import { kubelets, type Kubelets, type PlayedPod } from './fleet-kubelets.ts'

const NAMESPACE = 'shop'
const PODS_PER_NODE = 30
const CREATED_WITHIN_MS = 900_000
/** Has the program print at its end the peak of its memory, in KiB, and its CPU time. */
const USAGE = `process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  process.stderr.write('used ' + maxRSS + ' ' + (userCPUTime + systemCPUTime) / 1000 + '\\n')
})`
const USED = /used (\d+) ([\d.]+)\n/
/** The kernel counts CPU time in ticks. */
const TICK_MS = 10
/** The API server is at rest when it takes less than this of a second. */
const REST_MS = 150
const RESTS_WITHIN = 30

/** A run of a command, and what it cost the API server. */
export interface FleetRun {
  readonly command: string
  readonly code: number
  readonly out: string
  readonly err: string
  readonly seconds: number
  /** The user and system time of the API server during the run, without what it takes at rest. */
  readonly serverMs: number
  /** The user and system time of the command. */
  readonly clientMs: number
  /** The peak of the resident memory of the command. */
  readonly mib: number
  /** Requests that the API server counted, such as `PATCH pods`. */
  readonly requests: ReadonlyMap<string, number>
  /** Milliseconds from the start of the program until the ConfigMap was changed. */
  readonly writtenMs: number | undefined
  /** The milliseconds from then until the first sidecar was asked; negative where it was before. */
  readonly askedMs: number | undefined
}

/** A real API server with pods that are real objects, and sidecars that are played. */
export interface Fleet {
  readonly kubeconfig: string
  /** A directory for files of tests. */
  readonly directory: string
  /** Runs the built program with these arguments, against the fleet. */
  run(...args: readonly string[]): Promise<FleetRun>
  close(): Promise<void>
}

/**
 * Starts an API server with this number of pods. Of a hundred `dead` ones respond to nothing: every
 * second one because its node is not ready.
 */
export async function fleet(count: number, dead = 1): Promise<Fleet> {
  const { open, closeAll } = closeStack()
  try {
    const directory = await mkdtemp(join(tmpdir(), 'squall-fleet-'))
    open({ close: () => rm(directory, { recursive: true, force: true }) })
    const [socket, egress] = [join(directory, 'socket'), join(directory, 'egress.json')]
    await writeFile(egress, JSON.stringify(egressTo(socket)))
    const server = open(await controlPlane([`--egress-selector-config-file=${egress}`]))
    const { kubeconfig } = server
    const connection = { kubeconfig, context: undefined, env: {}, version: 'test' }
    const client = open(connectKube({ ...connection, patienceMs: CREATED_WITHIN_MS }))
    const played = open(await kubelets(kubeconfig, NAMESPACE, count, dead))
    await createPods(client, played, count)
    open(await tunnel(socket, played))
    await played.watch()
    const run = (...args: readonly string[]): Promise<FleetRun> => measure(server, played, args)
    return { kubeconfig, directory, run, close: closeAll }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Has the API server reach pods and nodes as in managed clusters: by a proxy of its own. */
function egressTo(udsName: string): object {
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } }
  return {
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [{ name: 'cluster', connection }],
  }
}

async function createPods(client: KubeClient, played: Kubelets, count: number): Promise<void> {
  await client.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: NAMESPACE } },
    what: 'create the namespace',
  })
  const nodes = Array.from({ length: Math.ceil(count / PODS_PER_NODE) + 1 }, (_, i) => i)
  const lost = nodes.length - 1
  await inParallel(nodes, async (i) => {
    const ref = { kind: NODES, name: `node-${i}` }
    await client.create(ref, { apiVersion: 'v1', kind: 'Node', metadata: { name: ref.name } })
    const conditions = [{ type: 'Ready', status: i === lost ? 'Unknown' : 'True' }]
    const addresses = [{ type: 'InternalIP', address: `10.0.${i >> 8}.${i & 255}` }]
    const status = { conditions, addresses, daemonEndpoints: { kubeletEndpoint: { Port: 10250 } } }
    await putStatus(client, `/api/v1/nodes/${ref.name}`, status)
  })
  const create = async ({ name, ip, isLost, index }: PlayedPod): Promise<void> => {
    const { status, ...pod } = injectedPod(name, played.directory, {}, { running: {} })
    const node = isLost ? lost : Math.floor(index / PODS_PER_NODE)
    const spec = { ...(pod['spec'] as object), nodeName: `node-${node}` }
    const ref = { kind: PODS, namespace: NAMESPACE }
    await client.create(ref, { apiVersion: 'v1', kind: 'Pod', ...pod, spec })
    const running = { ...(status as object), podIP: ip, podIPs: [{ ip }] }
    await putStatus(client, `/api/v1/namespaces/${NAMESPACE}/pods/${name}`, running)
  }
  await inParallel(played.pods, create)
}

function putStatus(client: KubeClient, path: string, status: object): Promise<unknown> {
  const what = `set the status of ${path}`
  const body = { status }
  return client.request({ method: 'PATCH', path: `${path}/status`, patch: 'merge', body, what })
}

/** Connects the API server to the sidecars that it names. */
async function tunnel(path: string, played: Kubelets): Promise<{ close(): void }> {
  const pods = new Map(played.pods.map((pod) => [pod.ip, pod]))
  const podOf = new WeakMap<Duplex, PlayedPod>()
  const sockets = new Set<Duplex>()
  const sidecars = createServer((request: IncomingMessage, response: ServerResponse) => {
    const body = played.respond(podOf.get(request.socket)!, request.url ?? '')
    response.setHeader('content-type', 'application/json')
    response.statusCode = body === undefined ? 404 : 200
    response.end(body)
  })
  const proxy = createServer().on('connect', ({ url = '' }, socket: Duplex) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    const pod = pods.get(url.split(':')[0]!)
    // A connection to a dead pod is never made, and the ports of nodes are not played.
    if (pod === undefined || pod.isDead) return
    podOf.set(socket, pod)
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    sidecars.emit('connection', socket)
  })
  proxy.listen(path)
  await once(proxy, 'listening')
  return {
    close: () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

async function measure(
  server: ApiServer,
  played: Kubelets,
  args: readonly string[],
): Promise<FleetRun> {
  const restMs = await atRest(server)
  const before = await requestsOf(server)
  played.begin()
  const [cpuMs, startedAt] = [cpuOf(server), performance.now()]
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../dist/cli/main.js'), ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KUBECONFIG: server.kubeconfig,
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(USAGE)}`,
      },
    },
  )
  const [out, err] = [child.stdout, child.stderr].map((stream) => stream.toArray())
  const [code] = (await once(child, 'close')) as [number]
  const seconds = (performance.now() - startedAt) / 1000
  const serverMs = cpuOf(server) - cpuMs - restMs * seconds
  const errors = Buffer.concat((await err!) as Buffer[]).toString('utf8')
  const [, kib, clientMs] = USED.exec(errors) ?? []
  const after = await requestsOf(server)
  const { writtenAt, askedAt } = played.seen()
  return {
    command: args[0] ?? '',
    code,
    out: Buffer.concat((await out!) as Buffer[]).toString('utf8'),
    err: errors.replace(USED, ''),
    seconds,
    serverMs,
    clientMs: Number(clientMs),
    mib: Number(kib) / 1024,
    requests: new Map(
      [...after].flatMap(([key, value]) => {
        const more = value - (before.get(key) ?? 0)
        return more > 0 ? [[key, more] as const] : []
      }),
    ),
    writtenMs: writtenAt && writtenAt - startedAt,
    askedMs: writtenAt && askedAt && askedAt - writtenAt,
  }
}

/**
 * Waits until the API server does nothing but its own work, and returns the milliseconds that it
 * takes for that each second.
 */
async function atRest(server: ApiServer): Promise<number> {
  for (let second = 1; ; second++) {
    const before = cpuOf(server)
    await sleep(1_000)
    const ms = cpuOf(server) - before
    if (ms < REST_MS || second === RESTS_WITHIN) return Math.min(ms, REST_MS)
  }
}

/** Returns the user and system time of the API server in milliseconds. */
function cpuOf(server: ApiServer): number {
  const stat = readFileSync(`/proc/${server.pid()}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

const COUNTED = /^apiserver_request_total\{(.*)\} (\S+)$/gm
/** Requests that the stage itself and the API server send. */
const OWN = /^(WATCH|GET \/|LIST (?!pods|services))|leases|clusterroles|flowschemas|apiservices/

async function requestsOf(server: ApiServer): Promise<ReadonlyMap<string, number>> {
  const { text } = await server.run('kubectl', ['get', '--raw', '/metrics'])
  const counts = new Map<string, number>()
  for (const [, labels = '', count] of text.matchAll(COUNTED)) {
    const label = (name: string): string =>
      new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
    const sub = label('subresource')
    const key = `${label('verb')} ${label('resource')}${sub === '' ? '' : `/${sub}`}`
    if (!OWN.test(key)) counts.set(key, (counts.get(key) ?? 0) + Number(count))
  }
  return counts
}

/** Returns the sum of the requests whose name begins so. */
export function requestsTo({ requests }: FleetRun, start: string): number {
  const found = [...requests].filter(([key]) => key.startsWith(start))
  return found.reduce((sum, [, count]) => sum + count, 0)
}

/** Describes a run on one line. */
export function figuresOf(run: FleetRun, count: number): string {
  const { command, code, seconds, serverMs, clientMs, mib, requests, writtenMs, out } = run
  const written = writtenMs === undefined ? '' : `, key written after ${Math.round(writtenMs)} ms`
  const list = [...requests].map(([key, value]) => `${key} ${value}`).join(', ')
  return (
    `${count} pods, ${command}: ${seconds.toFixed(1)} s, ` +
    `CPU a pod: API server ${(serverMs / count).toFixed(1)} ms, command ${(clientMs / count).toFixed(1)} ms; ` +
    `${Math.round(mib)} MiB, ` +
    `${out.trimEnd().split('\n').length} lines, exit ${code}${written}; ${list}`
  )
}
