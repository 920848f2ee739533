import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { API } from '../../src/admin/contract/index.ts'
import { startSquall } from '../support/commands.ts'

/** The time from the PATCH of a pod until its volume is updated: from here, and up to a second more. */
const DELIVERY_MS = 300
/** The kubelet updates the volumes of a pod that nobody touches at least this often. */
const SYNC_MS = 60_000

/** A pod that is played. */
export interface PlayedPod {
  readonly index: number
  readonly name: string
  readonly ip: string
  readonly isDead: boolean
  /** Its node is not ready. */
  readonly isLost: boolean
}

/** The responses of a real sidecar to one version of the ConfigMap. */
interface Version {
  readonly at: number
  readonly state: Record<string, unknown> & { readonly startedAt: string }
  readonly rules: string
}

/** All kubelets and all sidecars of the fleet. */
export interface Kubelets {
  readonly pods: readonly PlayedPod[]
  /** The directory where sidecars find their rules. */
  readonly directory: string
  /** Watches the ConfigMap and the pods, as kubelets do, until `close`. */
  watch(): Promise<void>
  /** Returns the response of a sidecar, by what its volume has now. */
  respond(pod: PlayedPod, path: string): string | undefined
  /** Forgets what was seen. */
  begin(): void
  /** Returns when the ConfigMap was changed first since `begin`, and a sidecar asked. */
  seen(): { readonly writtenAt: number | undefined; readonly askedAt: number | undefined }
  close(): Promise<void>
}

/**
 * Plays the kubelets and sidecars. Each version of the ConfigMap is read by a real sidecar, whose
 * responses are those of all pods that have this version.
 */
export async function kubelets(
  kubeconfig: string,
  namespace: string,
  count: number,
  dead: number,
): Promise<Kubelets> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-fleet-rules-'))
  const pods = Array.from({ length: count }, (_, index): PlayedPod => {
    const isDead = index % 100 < dead
    const isLost = isDead && Math.floor(index / 100) % 2 === 1
    const ip = `10.244.${index >> 8}.${index & 255}`
    return { index, name: `shop-${String(index).padStart(5, '0')}`, ip, isDead, isLost }
  })
  const byName = new Map(pods.map((pod) => [pod.name, pod]))
  const touched = new Map<PlayedPod, number>()
  const versions: Version[] = [await readBySidecar(directory, {})]
  const ended = new AbortController()
  let writtenAt: number | undefined
  let askedAt: number | undefined
  const versionOf = (pod: PlayedPod): Version => {
    const now = performance.now()
    const delivered = (touched.get(pod) ?? 0) + DELIVERY_MS + (pod.index % 10) * 100
    const synced = now - ((now + (pod.index * SYNC_MS) / count) % SYNC_MS)
    const last = delivered <= now ? Math.max(delivered, synced) : synced
    return versions.findLast(({ at }) => at <= last) ?? versions[0]!
  }
  return {
    pods,
    directory,
    watch: async () => {
      const watched = (path: string, onEvent: (type: string, object: Watched) => unknown) =>
        watchObjects(kubeconfig, `/api/v1/namespaces/${namespace}/${path}`, ended.signal, onEvent)
      await watched('configmaps?watch=1', async (_, { metadata, data }) => {
        if (metadata.name !== 'squall-rules') return
        const at = performance.now()
        writtenAt ??= at
        versions.push({ ...(await readBySidecar(directory, data ?? {})), at })
      })
      await watched('pods?watch=1', (type, { metadata: { name } }) => {
        const pod = byName.get(name)
        if (type === 'MODIFIED' && pod !== undefined) touched.set(pod, performance.now())
      })
    },
    respond: (pod, path) => {
      askedAt ??= performance.now()
      const { state, rules } = versionOf(pod)
      if (path === API.rules.path) return rules
      if (path !== API.state.path) return undefined
      const uptimeSeconds = (Date.now() - Date.parse(state.startedAt)) / 1000
      return JSON.stringify({ ...state, uptimeSeconds, pod: pod.name })
    },
    begin: () => {
      writtenAt = undefined
      askedAt = undefined
    },
    seen: () => ({ writtenAt, askedAt }),
    close: async () => {
      ended.abort()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Starts a sidecar with this ConfigMap, and keeps what it responds. */
async function readBySidecar(
  directory: string,
  data: Readonly<Record<string, string>>,
): Promise<Version> {
  for (const name of await readdir(directory)) await rm(join(directory, name))
  for (const [key, text] of Object.entries(data)) await writeFile(join(directory, key), text)
  const squall = await startSquall('--upstream', 'http://127.0.0.1:9', '--rules', directory)
  try {
    const read = async (path: string): Promise<string> =>
      (await fetch(new URL(path, squall.admin))).text()
    const state = JSON.parse(await read(API.state.path)) as Version['state']
    return { at: 0, state, rules: await read(API.rules.path) }
  } finally {
    await squall.close()
  }
}

interface Watched {
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
}

/** Watches from now on; resolves with the first response of the API server. */
async function watchObjects(
  kubeconfig: string,
  path: string,
  signal: AbortSignal,
  onEvent: (type: string, object: Watched) => unknown,
): Promise<void> {
  const { server, token } = accessOf(kubeconfig)
  const headers = { authorization: `Bearer ${token}` }
  await new Promise<void>((resolve, reject) => {
    const url = new URL(path, server)
    get(url, { headers, signal, rejectUnauthorized: false }, (response) => {
      const lines = createInterface({ input: response.on('error', () => undefined) })
      lines
        .on('error', () => undefined)
        .on('line', (line) => {
          const { type, object } = JSON.parse(line) as { type: string; object: Watched }
          void onEvent(type, object)
        })
      resolve()
    }).once('error', reject)
  })
}

/** Returns the content of the file of a kubeconfig that `controlPlane` wrote. */
function accessOf(kubeconfig: string): { readonly server: string; readonly token: string } {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: [{ cluster: { server: string } }]
    users: [{ user: { token: string } }]
  }
  return { server: clusters[0].cluster.server, token: users[0].user.token }
}
