import { request } from 'node:https'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A ConfigMap as the API server has it. */
export interface LiveConfigMap {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion?: string
    readonly managedFields?: readonly {
      readonly manager: string
      readonly operation: string
      readonly fieldsV1: object
    }[]
  }
  readonly data?: Readonly<Record<string, string>>
}

/** The content of Git, and how the controller brings it into the cluster. */
interface GitOpsOptions {
  readonly data: Readonly<Record<string, string>>
  /** `apply`: server-side apply with force, as Flux does; `replace`: an update of the whole object. */
  readonly by: 'apply' | 'replace'
  readonly manager: string
}

const JSON_TYPE = 'application/json'
const APPLY = 'application/apply-patch+yaml'
const PATH = '/api/v1/namespaces/shop/configmaps/squall-rules'
/** The pause between two looks, shorter than a kubelet takes for a volume. */
const INTERVAL_MS = 50

/** Returns requests to the API server of a kubeconfig that `controlPlane` wrote. */
export function apiOf(kubeconfig: string) {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: [{ cluster: { server: string } }]
    users: [{ user: { token: string } }]
  }
  const headers = { authorization: `Bearer ${users[0].user.token}` }
  const send = async (method: string, path: string, type?: string, body?: object) => {
    const options = {
      method,
      headers: { ...headers, ...(type !== undefined && { 'content-type': type }) },
      rejectUnauthorized: false,
    }
    const [status, text] = await new Promise<[number, string]>((resolve, reject) => {
      request(new URL(path, clusters[0].cluster.server), options, (response) => {
        let all = ''
        response.setEncoding('utf8').on('data', (part: string) => (all += part))
        response.once('end', () => resolve([response.statusCode ?? 0, all])).once('error', reject)
      })
        .once('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body))
    })
    return { status, body: JSON.parse(text) as LiveConfigMap }
  }
  return { send, read: async () => (await send('GET', PATH)).body }
}

/**
 * Starts a stand-in for a GitOps tool with self-healing: each difference of the ConfigMap from Git
 * that it sees is reverted at once.
 */
export async function gitOpsController(kubeconfig: string, options: GitOpsOptions) {
  const { data, by, manager } = options
  const { send, read } = apiOf(kubeconfig)
  const desired = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'squall-rules', labels: { 'example.com/from': 'git' } },
    data,
  }
  let reverts = 0
  const sync = (force = true) =>
    by === 'apply'
      ? send('PATCH', `${PATH}?fieldManager=${manager}&force=${force}`, APPLY, desired)
      : send('PUT', `${PATH}?fieldManager=${manager}`, JSON_TYPE, desired)
  const isDifferent = ({ metadata, data: live = {} }: LiveConfigMap): boolean =>
    by === 'apply'
      ? Object.entries(data).some(([key, text]) => live[key] !== text)
      : JSON.stringify(live) !== JSON.stringify(data) || metadata.annotations !== undefined
  const all = `${PATH.replace(/\/[^/]+$/, '')}?fieldManager=${manager}`
  await send('POST', all, JSON_TYPE, { metadata: { name: 'squall-rules' } })
  await sync()
  const ended = new AbortController()
  const loop = (async () => {
    while (!ended.signal.aborted) {
      if (isDifferent(await read())) {
        await sync()
        reverts++
      }
      await sleep(INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  })()
  return {
    /** Writes the content of Git once more; without force, conflicts with other owners fail. */
    sync,
    /** Returns how often it reverted the ConfigMap so far. */
    reverts: () => reverts,
    close: async () => {
      ended.abort()
      await loop
    },
  }
}

/** Returns the fields of data, labels and annotations that each field manager owns. */
export function ownersOf({ metadata }: LiveConfigMap): Readonly<Record<string, readonly string[]>> {
  const entries = (metadata.managedFields ?? []).map(({ manager, operation, fieldsV1 }) => {
    const fields = leaves(fieldsV1).filter((path) => !/^(data|metadata\.\w+)$/.test(path))
    return [`${manager} ${operation}`, fields.toSorted()] as const
  })
  return Object.fromEntries(entries)
}

function leaves(fields: object, path = ''): string[] {
  const entries = Object.entries(fields).filter(([key]) => key.startsWith('f:'))
  if (entries.length === 0) return [path]
  return entries.flatMap(([key, below]) => {
    const name = key.slice(2)
    return leaves(below as object, path === '' ? name : `${path}.${name}`)
  })
}
