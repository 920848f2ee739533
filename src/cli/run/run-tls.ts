import { isIP } from 'node:net'
import { quoted } from '../../base/text/foreign-text.ts'
import type { RunFlag } from '../flags/flag-table.ts'
import type { FlagValues, Given } from '../flags/flag-values.ts'
import { isHost } from '../flags/host.ts'
import type { ListenerTls, Route, UpstreamTls } from './run-options.ts'
import { UsageError } from '../flags/usage-error.ts'

const UPSTREAM_TLS_FLAGS = [
  'upstream-ca',
  'upstream-cert',
  'upstream-key',
  'upstream-servername',
] as const satisfies readonly RunFlag[]

/** The files for TLS on the listeners: both or none. */
export function parseListenerTls(flags: FlagValues<RunFlag>): ListenerTls | undefined {
  const [certFile, keyFile] = pair(flags, 'tls-cert', 'tls-key')
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
}

/** TLS to the app; refused where no upstream speaks TLS, since it would do nothing. */
export function parseUpstreamTls(
  flags: FlagValues<RunFlag>,
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
    throw new UsageError(
      'BAD_COMBINATION',
      `${used} has no effect: no --upstream begins with https://`,
      'leave it out, or use https://',
    )
  }
  if (insecure && ca !== undefined) {
    throw new UsageError(
      'BAD_COMBINATION',
      '--upstream-insecure makes --upstream-ca pointless',
      'leave one of the two out',
    )
  }
  return options
}

function pair(
  flags: FlagValues<RunFlag>,
  cert: RunFlag,
  key: RunFlag,
): [certFile: string | undefined, keyFile: string | undefined] {
  const certGiven = flags.optional(cert)
  const keyGiven = flags.optional(key)
  const lone = certGiven ?? keyGiven
  if (lone === undefined) return [undefined, undefined]
  if (certGiven === undefined || keyGiven === undefined) {
    const missing = certGiven === undefined ? cert : key
    throw new UsageError('BAD_COMBINATION', `${lone.source} is given alone`, `add --${missing}`)
  }
  return [filePath(certGiven), filePath(keyGiven)]
}

function filePath({ text, source }: Given): string {
  if (text !== '' && !text.includes('\u0000')) return text
  throw new UsageError('BAD_VALUE', `${source}: ${quoted(text)} is not a path`, 'name a PEM file')
}

function servername(given: Given | undefined): string | undefined {
  if (given === undefined) return undefined
  if (isIP(given.text) === 0 && isHost(given.text)) return given.text
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is not a host name`,
    'write the DNS name in the certificate of the app',
  )
}
