import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { type Fields, fieldsOf } from '../../base/values.ts'
import {
  type CertificatePair,
  createAuthority,
  type Issuer,
  issueServer,
} from './issue-certificate.ts'
import { checkPair } from './serving-certificate.ts'

/** The lifetimes and names of certificates. */
export interface ManagedLifetimes {
  readonly hosts: readonly [string, ...string[]]
  readonly authorityMs: number
  readonly leafMs: number
  /** The time before its end at which a certificate is replaced. */
  readonly rotateBeforeMs: number
}

/** The content of the Secret: a CA, earlier ones that may still be in use, and a serving certificate. */
export interface ManagedState {
  readonly authority: Issuer
  /** PEM of all authorities, the newest first. */
  readonly bundle: readonly string[]
  readonly leaf: CertificatePair
}

const AUTHORITY_NAME = 'squall-webhook'
/** Clocks differ: a certificate that begins now would not be good yet elsewhere. */
const SKEW_MS = 5 * 60_000
const MAX_AUTHORITIES = 5

/** The certificates in a text of several. */
export function splitPem(text: string): readonly string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return found.map((each) => `${each}\n`)
}

/** Reads a Secret's data; undefined when it is incomplete or inconsistent. */
export function readManaged(secret: Fields): ManagedState | undefined {
  const data = fieldsOf(secret['data'])
  const text = (key: string): string => {
    const value = data[key]
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : ''
  }
  try {
    const bundle = splitPem(text('ca.crt'))
    const newest = bundle[0]
    if (newest === undefined) return undefined
    const key = text('ca.key')
    const privateKey = createPrivateKey(key)
    const publicKey = createPublicKey(privateKey)
    const read = new X509Certificate(newest)
    const leaf = { cert: text('tls.crt'), key: text('tls.key') }
    checkPair(leaf)
    if (!read.checkPrivateKey(privateKey) || !isSignedBy(leaf.cert, newest)) return undefined
    const authority = { name: AUTHORITY_NAME, privateKey, publicKey, cert: newest, key }
    return { authority, bundle, leaf }
  } catch {
    return undefined
  }
}

/** The Secret's data for a state. */
export function writeManaged({
  authority,
  bundle,
  leaf,
}: ManagedState): Readonly<Record<string, string>> {
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  return {
    'ca.crt': encoded(bundle.join('')),
    'ca.key': encoded(authority.key),
    'tls.crt': encoded(leaf.cert),
    'tls.key': encoded(leaf.key),
  }
}

/** Renews the certificates that are due; the same state when none is. */
export function renewed(
  state: ManagedState | undefined,
  lifetimes: ManagedLifetimes,
  now: number,
): ManagedState {
  const { hosts, authorityMs, leafMs, rotateBeforeMs } = lifetimes
  const during = (ms: number): { from: Date; until: Date } => ({
    from: new Date(now - SKEW_MS),
    until: new Date(now + ms),
  })
  // A leaf that outlives its authority is good for nothing.
  const lasts = state !== undefined && endOf(state.authority.cert) >= now + leafMs
  if (state !== undefined && lasts) {
    const fits = endOf(state.leaf.cert) > now + rotateBeforeMs && isFor(state.leaf.cert, hosts)
    if (fits) return state
    return { ...state, leaf: issueServer(state.authority, hosts, during(leafMs)) }
  }
  const authority = createAuthority(AUTHORITY_NAME, during(Math.max(authorityMs, 2 * leafMs)))
  const before = (state?.bundle ?? []).filter((cert) => endOf(cert) > now)
  const bundle = [authority.cert, ...before].slice(0, MAX_AUTHORITIES)
  return { authority, bundle, leaf: issueServer(authority, hosts, during(leafMs)) }
}

/** When an authority was made: it says that it is good from a little earlier. */
export function madeAt(cert: string): number {
  return new Date(new X509Certificate(cert).validFrom).getTime() + SKEW_MS
}

/** When a certificate ends; long ago when it is none. */
export function endOf(cert: string): number {
  try {
    return new Date(new X509Certificate(cert).validTo).getTime()
  } catch {
    return 0
  }
}

function isSignedBy(cert: string, authority: string): boolean {
  const read = new X509Certificate(authority)
  return (
    new X509Certificate(cert).checkIssued(read) && new X509Certificate(cert).verify(read.publicKey)
  )
}

function isFor(cert: string, hosts: readonly string[]): boolean {
  const read = new X509Certificate(cert)
  return hosts.every((host) => (read.checkHost(host) ?? read.checkIP(host)) !== undefined)
}
