import { NO_FILE, readBounded } from '../../base/small-file.ts'
import { isIP } from 'node:net'
import { quoted } from '../../base/text/foreign-text.ts'
import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { isHost } from '../flags/host.ts'
import type { Route } from './run-places.ts'
import { badCombination, badValue, UsageError } from '../flags/usage-error.ts'

const TLS = 'TLS:'

/** The options of `squall run` about TLS. */
export const TLS_FLAGS = flagGroup(TLS, {
  'tls-cert': ['file', 'certificate to listen with, as PEM'],
  'tls-key': ['file', 'key of that certificate, as PEM'],
  'upstream-ca': [
    'file',
    'certificates that the app is trusted by, as PEM, instead of the usual ones',
  ],
  'upstream-cert': ['file', 'certificate to show to the app, as PEM'],
  'upstream-key': ['file', 'key of that certificate, as PEM'],
  'upstream-servername': [
    'name',
    'name that the certificate of the app is for, when it is not the host of --upstream',
  ],
  'upstream-insecure': 'accept any certificate of the app',
})

type TlsFlag = (typeof TLS_FLAGS)[number]['name']

/** The files for TLS on the listeners. */
export interface ListenerTls {
  readonly certFile: string
  readonly keyFile: string
}

/** Configures TLS to the app. */
export interface UpstreamTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly servername: string | undefined
  /** Accepts any certificate. */
  readonly insecure: boolean
}

const UPSTREAM_TLS_FLAGS = [
  'upstream-ca',
  'upstream-cert',
  'upstream-key',
  'upstream-servername',
] as const satisfies readonly TlsFlag[]

/** Returns the files for TLS on the listeners: both or none. */
export function parseListenerTls(flags: FlagValues<TlsFlag>): ListenerTls | undefined {
  const [certFile, keyFile] = pair(flags, 'tls-cert', 'tls-key')
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
}

/** Parses the options for TLS to the app; rejects options without effect. */
export function parseUpstreamTls(
  flags: FlagValues<TlsFlag>,
  routes: readonly Route[],
): UpstreamTls {
  const [certFile, keyFile] = pair(flags, 'upstream-cert', 'upstream-key')
  const ca = flags.optional('upstream-ca')
  const insecure = flags.switch('upstream-insecure')
  const options = {
    caFile: ca === undefined ? undefined : filePath(ca),
    certFile,
    keyFile,
    servername: servername(flags.optional('upstream-servername')),
    insecure,
  }
  const used =
    UPSTREAM_TLS_FLAGS.map((name) => flags.optional(name)).find((given) => given !== undefined)
      ?.source ?? (insecure ? '--upstream-insecure' : undefined)
  const speaksTls = routes.some(({ upstream }) => upstream.kind === 'tcp' && upstream.tls)
  if (used !== undefined && !speaksTls) {
    throw badCombination(
      `${used} has no effect: no --upstream begins with https://`,
      'leave it out, or use https://',
    )
  }
  if (insecure && ca !== undefined) {
    throw badCombination(
      '--upstream-insecure makes --upstream-ca pointless',
      'leave one of the two out',
    )
  }
  return options
}

function pair(
  flags: FlagValues<TlsFlag>,
  cert: TlsFlag,
  key: TlsFlag,
): [certFile: string | undefined, keyFile: string | undefined] {
  const certGiven = flags.optional(cert)
  const keyGiven = flags.optional(key)
  const lone = certGiven ?? keyGiven
  if (lone === undefined) return [undefined, undefined]
  if (certGiven === undefined || keyGiven === undefined) {
    const missing = certGiven === undefined ? cert : key
    throw badCombination(`${lone.source} is given alone`, `add --${missing}`)
  }
  return [filePath(certGiven), filePath(keyGiven)]
}

function filePath({ text, source }: Given): string {
  if (text !== '' && !text.includes('\u0000')) return text
  throw badValue({ text, source }, 'is not a path', 'name a PEM file')
}

function servername(given: Given | undefined): string | undefined {
  if (given === undefined) return undefined
  if (isIP(given.text) === 0 && isHost(given.text)) return given.text
  throw badValue(given, 'is not a host name', 'write the DNS name in the certificate of the app')
}

/** The contents of the TLS files of a run. */
export interface TlsFiles {
  readonly listener: { readonly cert: Buffer; readonly key: Buffer } | undefined
  readonly upstream: {
    readonly ca: Buffer | undefined
    readonly cert: Buffer | undefined
    readonly key: Buffer | undefined
  }
}

/** Reads the TLS files and checks that they fit together. Throws a `UsageError`. */
export function readTlsFiles(options: {
  readonly tls: ListenerTls | undefined
  readonly upstreamTls: UpstreamTls
}): TlsFiles {
  const { tls, upstreamTls } = options
  const listener =
    tls === undefined
      ? undefined
      : { cert: read(tls.certFile, '--tls-cert'), key: read(tls.keyFile, '--tls-key') }
  const upstream = {
    ca: readOptional(upstreamTls.caFile, '--upstream-ca'),
    cert: readOptional(upstreamTls.certFile, '--upstream-cert'),
    key: readOptional(upstreamTls.keyFile, '--upstream-key'),
  }
  if (listener !== undefined) check(listener, '--tls-cert and --tls-key')
  if (upstream.ca !== undefined) check({ ca: upstream.ca }, '--upstream-ca')
  if (upstream.cert !== undefined && upstream.key !== undefined) {
    check({ cert: upstream.cert, key: upstream.key }, '--upstream-cert and --upstream-key')
  }
  return { listener, upstream }
}

function readOptional(path: string | undefined, flag: string): Buffer | undefined {
  return path === undefined ? undefined : read(path, flag)
}

function read(path: string, flag: string): Buffer {
  try {
    return readBounded(path)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : NO_FILE
    throw new UsageError(
      'BAD_FILE',
      `${flag}: ${quoted(path)} cannot be read (${reason})`,
      'check the path and its permissions',
    )
  }
}

function check(parts: { ca?: Buffer; cert?: Buffer; key?: Buffer }, flags: string): void {
  const { ca } = parts
  try {
    // Node accepts a CA file without a certificate silently, and would then trust nothing.
    if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM')
    process.getBuiltinModule('node:tls').createSecureContext(parts)
  } catch {
    // OpenSSL's error may describe the key, so it is not repeated.
    throw new UsageError(
      'BAD_FILE',
      `${flags}: not usable as a certificate in PEM form, or the key does not belong to it`,
      'check the contents of the files',
    )
  }
}
