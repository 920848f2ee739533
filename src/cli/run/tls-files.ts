import { quoted } from '../../base/text/foreign-text.ts'
import { NO_FILE, readBounded } from '../../base/small-file.ts'
import type { RunOptions } from './run-options.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The contents of the TLS files of a run. */
export interface TlsFiles {
  readonly listener: { readonly cert: Buffer; readonly key: Buffer } | undefined
  readonly upstream: {
    readonly ca: Buffer | undefined
    readonly cert: Buffer | undefined
    readonly key: Buffer | undefined
  }
}

/** Reads the TLS files and checks that they fit together; a `UsageError` says which one does not. */
export function readTlsFiles(options: Pick<RunOptions, 'tls' | 'upstreamTls'>): TlsFiles {
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
    // An authority without any certificate is taken silently, and then nothing would be trusted.
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
