import { NO_FILE, readBounded } from '../../base/small-file.ts'
import { isIP } from 'node:net'
import { quoted } from '../../base/text/foreign-text.ts'
import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { isHost } from '../flags/host.ts'
import type { TlsPaths } from '../../listener/front/tls-files.ts'
import type { Pair } from '../../listener/sidecar-options.ts'
import { badCombination, badFile, badValue } from '../flags/usage-error.ts'

const TLS = 'TLS:'

/** Declares the options of `squall run` about TLS. */
export const TLS_FLAGS = flagGroup(TLS, {
  'tls-cert': ['file', 'certificate of the listeners, as PEM'],
  'tls-key': ['file', 'key of that certificate, as PEM'],
  'upstream-ca': ['file', 'CA certificates for the app, as PEM, instead of the public ones'],
  'upstream-cert': ['file', 'client certificate for the app, as PEM'],
  'upstream-key': ['file', 'key of that certificate, as PEM'],
  'upstream-servername': [
    'name',
    'name in the certificate of the app, if other than the host of --upstream',
  ],
  'upstream-insecure': 'accept any certificate of the app',
})

type TlsFlag = (typeof TLS_FLAGS)[number]['name']

const UPSTREAM_TLS_FLAGS = [
  'upstream-ca',
  'upstream-cert',
  'upstream-key',
  'upstream-servername',
] as const satisfies readonly TlsFlag[]

/** Returns the TLS files of the listeners: both or none. */
export function parseListenerTls(flags: FlagValues<TlsFlag>): TlsPair | undefined {
  return pair(flags, 'tls-cert', 'tls-key')
}

/** Parses the options for TLS to the app; rejects options without effect. */
export function parseUpstreamTls(flags: FlagValues<TlsFlag>, pairs: readonly Pair[]) {
  const upstreamTls: TlsPaths = {
    ca: flags.parsed('upstream-ca', filePath),
    ...pair(flags, 'upstream-cert', 'upstream-key'),
  }
  const upstreamInsecure = flags.switch('upstream-insecure')
  const upstreamServername = flags.parsed('upstream-servername', servername)
  const used =
    UPSTREAM_TLS_FLAGS.map((name) => flags.optional(name)).find((given) => given !== undefined)
      ?.source ?? (upstreamInsecure ? '--upstream-insecure' : undefined)
  const speaksTls = pairs.some(({ upstream }) => upstream.kind === 'tcp' && upstream.tls)
  if (used !== undefined && !speaksTls) {
    throw badCombination(
      `${used} has no effect: no --upstream begins with https://`,
      'leave it out, or use https://',
    )
  }
  if (upstreamInsecure && upstreamTls.ca !== undefined) {
    throw badCombination(
      '--upstream-insecure makes --upstream-ca pointless',
      'leave one of the two out',
    )
  }
  return { upstreamTls, upstreamInsecure, upstreamServername }
}

/** The paths of a certificate and of its key. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

function pair(flags: FlagValues<TlsFlag>, cert: TlsFlag, key: TlsFlag): TlsPair | undefined {
  const certGiven = flags.optional(cert)
  const keyGiven = flags.optional(key)
  const lone = certGiven ?? keyGiven
  if (lone === undefined) return undefined
  if (certGiven === undefined || keyGiven === undefined) {
    const lacking = certGiven === undefined ? cert : key
    throw badCombination(`${lone.source} is given alone`, `add --${lacking}`)
  }
  return { cert: filePath(certGiven), key: filePath(keyGiven) }
}

function filePath(given: Given): string {
  if (given.text !== '' && !given.text.includes('\u0000')) return given.text
  throw badValue(given, 'is not a path', 'name a PEM file')
}

function servername(given: Given): string {
  if (isIP(given.text) === 0 && isHost(given.text)) return given.text
  throw badValue(given, 'is not a host name', 'write the DNS name in the certificate of the app')
}

/** Checks that the TLS files can be read and match. Throws a `UsageError`. */
export function checkTlsFiles({
  listenTls,
  upstreamTls,
}: {
  readonly listenTls: TlsPair | undefined
  readonly upstreamTls: TlsPaths
}): void {
  check(listenTls ?? {}, '--tls')
  const { ca, ...own } = upstreamTls
  check({ ca }, '--upstream')
  check(own, '--upstream')
}

function check(paths: TlsPaths, prefix: string): void {
  const files: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {}
  for (const part of ['ca', 'cert', 'key'] as const) {
    if (paths[part] !== undefined) files[part] = read(paths[part], `${prefix}-${part}`)
  }
  const flags = Object.keys(files).map((part) => `${prefix}-${part}`)
  if (flags.length === 0) return
  const { ca } = files
  try {
    // Node accepts a CA file without a certificate silently, and would then trust nothing.
    if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM')
    process.getBuiltinModule('node:tls').createSecureContext(files)
  } catch {
    // OpenSSL's error may describe the key, so it is not repeated.
    throw badFile(
      `${flags.join(' and ')}: not usable as a certificate in PEM form, or the key does not belong to it`,
      'check the contents of the files',
    )
  }
}

function read(path: string, flag: string): Buffer {
  try {
    return readBounded(path)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : NO_FILE
    throw badFile(
      `${flag}: ${quoted(path)} cannot be read (${reason})`,
      'check the path and its permissions',
    )
  }
}
