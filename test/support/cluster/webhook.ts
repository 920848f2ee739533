import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeClient } from '../../../packages/kubernetes/src/kube/kube-client.ts'
import {
  type CertificatePair,
  createCa,
  issueServer,
} from '../../../packages/kubernetes/src/webhook/issue-certificate.ts'
import type {
  Webhook,
  WebhookOptions,
} from '../../../packages/kubernetes/src/webhook/start-webhook.ts'
import { metricOf } from '../wire/metric.ts'

/** The CA of the tests. */
export const CA = createCa('test', lasting(3_600_000))

/** From a minute ago to some time from now. */
export function lasting(ms: number): { from: Date; until: Date } {
  return { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + ms) }
}

/** A certificate for loopback. */
export function servingPair(ms = 3_600_000): CertificatePair {
  return issueServer(CA, ['localhost', '127.0.0.1'], lasting(ms))
}

/** A directory with a certificate, as kubelet mounts a Secret. */
export interface MountedPair {
  readonly directory: string
  /** Swaps in another pair as kubelet does. */
  swap(pair: CertificatePair): Promise<void>
  remove(): Promise<void>
}

/** Mounts a first pair. */
export async function mountPair(first: CertificatePair): Promise<MountedPair> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-tls-'))
  let version = 0
  const swap = async ({ cert, key }: CertificatePair): Promise<void> => {
    const before = `..v${version}`
    const data = `..v${++version}`
    await mkdir(join(directory, data))
    await writeFile(join(directory, data, 'tls.crt'), cert)
    await writeFile(join(directory, data, 'tls.key'), key)
    await symlink(data, join(directory, '..data_tmp'))
    await rename(join(directory, '..data_tmp'), join(directory, '..data'))
    await rm(join(directory, before), { recursive: true, force: true })
  }
  await swap(first)
  for (const name of ['tls.crt', 'tls.key']) await symlink(`..data/${name}`, join(directory, name))
  return { directory, swap, remove: () => rm(directory, { recursive: true }) }
}

/** One line of the log. */
export type Line = Readonly<Record<string, unknown>>

/** A webhook in this process. */
export interface StagedWebhook {
  readonly webhook: Webhook
  readonly port: number
  readonly mounted: MountedPair
  readonly lines: readonly Line[]
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>
  readonly ready: () => Promise<{ readonly status: number; readonly reason: string }>
  close(): Promise<void>
}

/** Starts a webhook, by default with a mounted certificate; called by `startSquall`. */
export async function stagedWebhook(
  options: Partial<WebhookOptions> = {},
  client?: KubeClient,
  stop: AbortSignal = new AbortController().signal,
): Promise<StagedWebhook> {
  const { startWebhook } = await import('../../../packages/kubernetes/src/webhook/start-webhook.ts')
  const { parseInjectorSettings } =
    await import('../../../packages/kubernetes/src/injector/parse-settings.ts')
  const { createLogger } = await import('../../../src/telemetry/log.ts')
  const mounted = await mountPair(servingPair())
  const lines: Line[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) }
  const loopback = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const webhook = await startWebhook(
    {
      listen: loopback,
      admin: loopback,
      certificate: { kind: 'mounted', directory: mounted.directory },
      settings: parseInjectorSettings({}, '0.0.0'),
      minor: 33,
      readNamespaces: false,
      readServices: false,
      maxReviewBytes: 8 * 1024 * 1024,
      reviewTimeoutMs: 4_000,
      shutdownDelayMs: 0,
      drainTimeoutMs: 2_000,
      version: '0.0.0',
      ...options,
    },
    createLogger({ level: 'debug', format: 'json', destination }),
    () => (client === undefined ? Promise.reject(new Error('no client')) : Promise.resolve(client)),
    stop,
  ).catch(async (error: unknown) => {
    await mounted.remove()
    throw error
  })
  const admin = `http://${webhook.admin.text}`
  return {
    webhook,
    port: webhook.reviews.port,
    mounted,
    lines,
    metric: async (name, labels) =>
      metricOf(await (await fetch(`${admin}/metrics`)).text(), name, labels),
    ready: async () => {
      const response = await fetch(`${admin}/readyz`)
      const { reason } = (await response.json()) as { reason: string }
      return { status: response.status, reason }
    },
    close: async () => {
      await webhook.close()
      await mounted.remove()
    },
  }
}

/** The response to a request to a webhook. */
export interface Responded {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Sends bytes to a webhook as an API server does. */
export function send(
  port: number,
  body: string | Uint8Array,
  options: {
    readonly path?: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
  } = {},
): Promise<Responded> {
  const { path = '/mutate?timeout=5s', method = 'POST', headers = {} } = options
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        ca: CA.cert,
        path,
        method,
        agent: false,
        headers: { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        )
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** The response of a webhook for one pod. */
export interface Verdict {
  readonly uid: string
  readonly allowed: boolean
  readonly patchType?: string
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly status?: { readonly code: number; readonly message: string }
  readonly auditAnnotations: Readonly<Record<string, string>>
}

/** Asks about a pod and reads the response. */
export async function judge(
  port: number,
  object: unknown,
  request: object = {},
  path?: string,
): Promise<Verdict> {
  const body = JSON.stringify(reviewOf(object, request))
  const { status, text } = await send(port, body, path === undefined ? {} : { path })
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return (JSON.parse(text) as { response: Verdict }).response
}

/** A review of a pod that is to be made. */
export function reviewOf(object: unknown, request: object = {}): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      operation: 'CREATE',
      namespace: 'shop',
      userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller' },
      object,
      oldObject: null,
      dryRun: false,
      ...request,
    },
  }
}

/** A pod as a ReplicaSet makes one. */
export function podOf(annotations: Readonly<Record<string, string>> = {}): {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
} {
  return {
    metadata: {
      generateName: 'shop-7d4b9c-',
      labels: { app: 'shop' },
      annotations,
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'shop-7d4b9c',
          uid: '1',
          controller: true,
        },
      ],
    },
    spec: {
      containers: [{ name: 'app', image: 'shop:1', ports: [{ name: 'mcp', containerPort: 3000 }] }],
    },
  }
}

/** The annotation that asks for a sidecar. */
export const ASK = { 'squall.dev/inject': 'true' }
