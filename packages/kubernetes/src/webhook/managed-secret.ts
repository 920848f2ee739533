import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { type Fields, fieldsOf } from '#base'
import { type CertificatePair, createCa, type Issuer, issueServer } from './issue-certificate.ts'
import { checkPair } from './serving-certificate.ts'

/** The lifetimes and names of certificates. */
export interface ManagedLifetimes {
  readonly hosts: readonly [string, ...string[]]
  readonly caMs: number
  readonly servingMs: number
  /** The time before its end at which a certificate is replaced. */
  readonly rotateBeforeMs: number
}

/**
 * The content of the Secret: a CA, earlier ones that may still be in use, and a serving
 * certificate.
 */
export interface ManagedState {
  readonly ca: Issuer
  /** PEM of all CAs, the newest first. */
  readonly bundle: readonly string[]
  readonly serving: CertificatePair
}

const CA_NAME = 'squall-webhook'
/** Clocks differ: a certificate that begins now would not be valid on other machines yet. */
const SKEW_MS = 5 * 60_000
const MAX_CAS = 5

/** Splits a PEM bundle into certificates. */
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
    const serving = { cert: text('tls.crt'), key: text('tls.key') }
    checkPair(serving)
    if (!read.checkPrivateKey(privateKey) || !isSignedBy(serving.cert, read)) return undefined
    const ca = { name: CA_NAME, privateKey, publicKey, cert: newest, key }
    return { ca, bundle, serving }
  } catch {
    return undefined
  }
}

/** Returns the Secret's data for a state. */
export function writeManaged({
  ca,
  bundle,
  serving,
}: ManagedState): Readonly<Record<string, string>> {
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  return {
    'ca.crt': encoded(bundle.join('')),
    'ca.key': encoded(ca.key),
    'tls.crt': encoded(serving.cert),
    'tls.key': encoded(serving.key),
  }
}

/** Renews the certificates that are due; the same state when none is. */
export function renewed(
  state: ManagedState | undefined,
  lifetimes: ManagedLifetimes,
  now: number,
): ManagedState {
  const { hosts, caMs, servingMs, rotateBeforeMs } = lifetimes
  const during = (ms: number): { from: Date; until: Date } => ({
    from: new Date(now - SKEW_MS),
    until: new Date(now + ms),
  })
  // A certificate must not outlive its CA.
  const lasts = state !== undefined && endOf(state.ca.cert) >= now + servingMs
  if (state !== undefined && lasts) {
    const fits =
      endOf(state.serving.cert) > now + rotateBeforeMs && isFor(state.serving.cert, hosts)
    if (fits) return state
    return { ...state, serving: issueServer(state.ca, hosts, during(servingMs)) }
  }
  const ca = createCa(CA_NAME, during(Math.max(caMs, 2 * servingMs)))
  const before = (state?.bundle ?? []).filter((cert) => endOf(cert) > now)
  const bundle = [ca.cert, ...before].slice(0, MAX_CAS)
  return { ca, bundle, serving: issueServer(ca, hosts, during(servingMs)) }
}

/** Returns when a CA was created, without the skew. */
export function madeAt(cert: string): number {
  return new Date(new X509Certificate(cert).validFrom).getTime() + SKEW_MS
}

/** Returns when a certificate expires; 0 for an invalid one. */
export function endOf(cert: string): number {
  try {
    return new Date(new X509Certificate(cert).validTo).getTime()
  } catch {
    return 0
  }
}

function isSignedBy(cert: string, ca: X509Certificate): boolean {
  const read = new X509Certificate(cert)
  return read.checkIssued(ca) && read.verify(ca.publicKey)
}

function isFor(cert: string, hosts: readonly string[]): boolean {
  const read = new X509Certificate(cert)
  return hosts.every((host) => (read.checkHost(host) ?? read.checkIP(host)) !== undefined)
}
