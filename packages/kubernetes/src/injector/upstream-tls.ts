import { CA_DIRECTORY, CA_VOLUME, TLS_DIRECTORY, TLS_VOLUME } from './injected-names.ts'
import { allContainers, type Pod, type Volume, type VolumeMount } from './pod.ts'
import { Denial } from './injection.ts'
import { httpsHandler } from './rewrite-probes.ts'
import type { TakenPort } from './taken-ports.ts'
import type { InjectionOptions } from './injection-options.ts'

/** Configures the sidecar's TLS: with the upstream, with clients, or neither. */
export interface TlsPlan {
  readonly scheme: 'http' | 'https'
  readonly args: readonly string[]
  readonly volumes: readonly Volume[]
  readonly mounts: readonly VolumeMount[]
}

const PLAIN: TlsPlan = { scheme: 'http', args: [], volumes: [], mounts: [] }

/**
 * Chooses TLS on both sides. A sidecar that speaks plain HTTP would cut off an upstream that serves
 * TLS, so such a pod is denied unless its annotations configure both sides.
 */
export function chooseTls(
  pod: Pod,
  options: InjectionOptions,
  ports: readonly TakenPort[],
  prefix: string,
): TlsPlan {
  const wanted = options.get('upstream-tls')
  const secret = options.get('tls-secret')
  if (wanted === undefined) rejectDetected(pod, ports, prefix)
  rejectIdle(options, wanted, prefix)
  if (wanted === undefined && secret === undefined) return PLAIN
  if (wanted !== undefined && secret === undefined) {
    throw new Denial(
      'upstream_tls',
      'clients use TLS with your MCP server, but the sidecar would serve plain HTTP',
      `name the Secret (kubernetes.io/tls) with the certificate of your MCP server: ${prefix}tls-secret`,
    )
  }
  const upstream = wanted === undefined ? PLAIN : upstreamSide(pod, options, wanted, prefix)
  const client = secret === undefined ? PLAIN : clientSide(secret)
  return {
    scheme: upstream.scheme,
    args: [...upstream.args, ...client.args],
    volumes: [...upstream.volumes, ...client.volumes],
    mounts: [...upstream.mounts, ...client.mounts],
  }
}

/** Finds a probe or hook of a pod that uses TLS with a port. */
export function findHttps(pod: Pod, ports: readonly TakenPort[]) {
  return allContainers(pod)
    .map((each) => httpsHandler(each, ports))
    .find((each) => each !== undefined)
}

/** Rejects a port that serves TLS, which a probe with HTTPS shows. */
function rejectDetected(pod: Pod, ports: readonly TakenPort[], prefix: string): void {
  const found = findHttps(pod, ports)
  if (found === undefined) return
  throw new Denial(
    'upstream_tls',
    `your MCP server serves TLS: ${found.key} uses port ${found.port} with scheme HTTPS`,
    `write ${prefix}upstream-tls: verify with ${prefix}upstream-ca (such as configmap/NAME/ca.crt) and ${prefix}upstream-servername, or ${prefix}upstream-tls: insecure-skip-verify; and ${prefix}tls-secret with the Secret for clients`,
  )
}

/** Rejects keys that have an effect only with verified certificates. */
function rejectIdle(options: InjectionOptions, wanted: string | undefined, prefix: string): void {
  if (wanted === 'verify') return
  const idle = (['upstream-ca', 'upstream-servername'] as const).find((key) => options.has(key))
  if (idle === undefined) return
  throw new Denial(
    'upstream_tls',
    `${prefix}${idle} has no effect without ${prefix}upstream-tls: verify`,
    'set that as well, or remove it',
  )
}

function upstreamSide(
  pod: Pod,
  options: InjectionOptions,
  wanted: string,
  prefix: string,
): TlsPlan {
  if (wanted !== 'verify') return { ...PLAIN, scheme: 'https', args: ['--upstream-insecure'] }
  const name = options.get('upstream-servername')
  if (name === undefined) {
    throw new Denial(
      'upstream_tls',
      'the sidecar connects to your MCP server by an address, which certificates do not name',
      `write the DNS name in the certificate of your MCP server: ${prefix}upstream-servername`,
    )
  }
  const args = ['--upstream-servername', name]
  const ca = options.get('upstream-ca')
  if (ca === undefined) return { ...PLAIN, scheme: 'https', args }
  const [kind, source = '', ...rest] = ca.split('/')
  const path = rest.join('/')
  const isOwn = kind === 'volume'
  if (isOwn) rejectMissing(pod, source, prefix)
  const items = [{ key: path, path: 'ca.crt' }]
  const from =
    kind === 'secret'
      ? { secret: { secretName: source, items } }
      : { configMap: { name: source, items } }
  return {
    scheme: 'https',
    args: [...args, '--upstream-ca', `${CA_DIRECTORY}/${isOwn ? path : 'ca.crt'}`],
    volumes: isOwn ? [] : [{ name: CA_VOLUME, ...from }],
    mounts: [{ name: isOwn ? source : CA_VOLUME, mountPath: CA_DIRECTORY, readOnly: true }],
  }
}

function rejectMissing({ spec }: Pod, name: string, prefix: string): void {
  const volumes = (spec?.volumes ?? []).map((each) => each.name)
  if (volumes.includes(name)) return
  throw new Denial(
    'upstream_tls',
    `${prefix}upstream-ca names the volume ${name}, which the pod does not have`,
    volumes.length === 0 ? 'use configmap/NAME/KEY' : `use one of ${volumes.join(', ')}`,
  )
}

/** Serves the Secret to clients; it is mounted as a directory, so that rotations arrive. */
function clientSide(secretName: string): TlsPlan {
  const args = ['--tls-cert', `${TLS_DIRECTORY}/tls.crt`, '--tls-key', `${TLS_DIRECTORY}/tls.key`]
  const mounts = [{ name: TLS_VOLUME, mountPath: TLS_DIRECTORY, readOnly: true }]
  return { scheme: 'http', args, volumes: [{ name: TLS_VOLUME, secret: { secretName } }], mounts }
}
