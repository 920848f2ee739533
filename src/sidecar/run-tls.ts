import { readSmallFile } from '../base/files.ts'
import { systemReason } from '../base/system-reason.ts'
import { quoted } from '../base/text/foreign-text.ts'
import { type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { asGiven, one, pathTo, toggle } from '../base/flags/kinds.ts'
import { isHostName } from '../http/address.ts'
import type { TlsPaths } from '../listener/front/tls-files.ts'
import type { Pair } from '../listener/sidecar-options.ts'
import { invalidCombination, invalidFile, invalidValue } from '../base/flags/usage-error.ts'

const PEM = 'name a PEM file'
const file = (help: string) => one('file', help, asGiven<FlagInput>)

/** Declares the options of `squall run` about TLS. */
export const TLS_FLAGS = group('TLS:', {
  tlsCert: file('PEM file with the certificate of every --listen'),
  tlsKey: file('PEM file with the private key for --tls-cert'),
  upstreamCa: file('PEM file with the CA certificates for the upstream, instead of the public CAs'),
  upstreamCert: file('PEM file with the client certificate for the upstream'),
  upstreamKey: file('PEM file with the private key for --upstream-cert'),
  upstreamServername: one(
    'name',
    'name in the upstream certificate, if it differs from the host of --upstream',
    asGiven<FlagInput>,
  ),
  upstreamInsecure: toggle('accept any upstream certificate, without verification'),
})

type TlsValues = Values<typeof TLS_FLAGS>

/** Returns the TLS files of the listeners: both or none. */
export function listenerTlsOf({ tlsCert, tlsKey }: TlsValues): TlsPair | undefined {
  return pair([tlsCert, '--tls-cert'], [tlsKey, '--tls-key'])
}

/** Returns the options for TLS to the upstream; rejects options without effect. */
export function upstreamTlsOf(flags: TlsValues, pairs: readonly Pair[]) {
  const { upstreamCa: ca, upstreamCert, upstreamKey, upstreamInsecure } = flags
  const upstreamTls: TlsPaths = {
    ca: ca && pathTo(PEM)(ca),
    ...pair([upstreamCert, '--upstream-cert'], [upstreamKey, '--upstream-key']),
  }
  const named = flags.upstreamServername
  const used =
    [ca, upstreamCert, upstreamKey, named].find((given) => given !== undefined)?.source ??
    (upstreamInsecure ? '--upstream-insecure' : undefined)
  const speaksTls = pairs.some(({ upstream }) => upstream.kind === 'tcp' && upstream.tls)
  if (used !== undefined && !speaksTls) {
    throw invalidCombination(
      `${used} has no effect: no --upstream begins with https://`,
      'remove it, or use https://',
    )
  }
  if (upstreamInsecure && ca !== undefined) {
    throw invalidCombination(
      '--upstream-insecure disables the check that --upstream-ca is for',
      'remove one of the two',
    )
  }
  return { upstreamTls, upstreamInsecure, upstreamServername: named && servername(named) }
}

/** The paths of a certificate and of its key. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

type Named = readonly [given: FlagInput | undefined, flag: string]

function pair([cert, certFlag]: Named, [key, keyFlag]: Named): TlsPair | undefined {
  const lone = cert ?? key
  if (lone === undefined) return undefined
  if (cert === undefined || key === undefined) {
    const lacking = cert === undefined ? certFlag : keyFlag
    throw invalidCombination(`${lone.source} has no effect alone`, `add ${lacking}`)
  }
  return { cert: pathTo(PEM)(cert), key: pathTo(PEM)(key) }
}

function servername(given: FlagInput): string {
  if (isHostName(given.text)) return given.text
  throw invalidValue(
    given,
    'is not a valid host name',
    'write the DNS name in the certificate of the upstream',
  )
}

/** Checks that the TLS files can be read and match. Throws a `UsageError`. */
export function checkTlsFiles({
  listenTls,
  upstreamTls,
  outboundTls = {},
}: {
  readonly listenTls: TlsPair | undefined
  readonly upstreamTls: TlsPaths
  readonly outboundTls?: TlsPaths
}): void {
  check(outboundTls, '--outbound')
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
    throw invalidFile(
      `${flags.join(' and ')}: invalid PEM certificate, or the private key does not match it`,
      'check the contents of the files',
    )
  }
}

function read(path: string, flag: string): Buffer {
  try {
    return readSmallFile(path)
  } catch (error) {
    const wrong = `${flag}: ${quoted(path)} cannot be read (${systemReason(error)})`
    throw invalidFile(wrong, 'check the path and its permissions')
  }
}
