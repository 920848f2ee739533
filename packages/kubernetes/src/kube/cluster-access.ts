import { readSmallFile, systemReason } from '#base'
import type { Impersonation } from './impersonation.ts'
import { configError } from './kube-error.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Credentials {
  readonly token?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/**
 * Returns the credentials for a request: some of them expire. `rejected` is true when the API server
 * did not accept the previous ones.
 */
export type CredentialSource = (rejected: boolean) => Promise<Credentials>

export interface ClusterAccess {
  readonly server: URL
  readonly tls: {
    readonly ca?: string | undefined
    readonly servername?: string | undefined
    readonly insecure: boolean
  }
  readonly credentials: CredentialSource
  /** The HTTP or SOCKS5 proxy before the server. */
  readonly proxy?: URL | undefined
  readonly impersonation?: Impersonation | undefined
  /** The namespace of requests that name none. */
  readonly namespace: string
  /** The name in messages. */
  readonly name: string
}

const MAX_BYTES = 4 * 1024 * 1024
/** Kubelet renews a token well before it expires. */
const READ_AGAIN_MS = 60_000

/** Reads a file that access to the cluster depends on. Throws nothing but a `KubeError`. */
export function readKubeFile(path: string, what: string): string {
  try {
    return readSmallFile(path, MAX_BYTES).toString('utf8')
  } catch (error) {
    const wrong = `${what}: ${path} cannot be read (${systemReason(error)})`
    throw configError(`${wrong}; check the path and its permissions`)
  }
}

/** Returns the token without white space. No message holds the token. */
export function checkedToken(text: string, from: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]{1,65536}$/.test(token)) return token
  throw configError(`${from} contains no token: must be one line of visible ASCII`)
}

/** Reads a token from a file, which is renewed there. */
export function tokenFile(path: string, more: Credentials): CredentialSource {
  let token: string | undefined
  let readAt = -Infinity
  // Async, so that every error rejects.
  return async (rejected) => {
    const now = performance.now()
    if (rejected || now - readAt >= READ_AGAIN_MS) {
      try {
        token = checkedToken(readKubeFile(path, 'token file'), path)
        readAt = now
      } catch (error) {
        // The file may be absent while it is replaced; the last token is still valid.
        if (token === undefined || rejected) throw error
      }
    }
    return { ...more, token }
  }
}
