import { setTimeout as sleep } from 'node:timers/promises'
import { readSmallFile, systemReason } from '#base'
import { type CertificateParts, publish, type PublishOptions, repeatedly } from './ca-publisher.ts'
import { splitPem } from './managed-secret.ts'
import { CertificateError } from './serving-certificate.ts'

/** The file is read this often: a renewed certificate waits until its CA is published. */
const READ_MS = 2_000

/**
 * Publishes the CA of a mounted certificate in the webhook configurations, and keeps the CAs that
 * other replicas may still use. A tool that replaces the bundle would cut these replicas off.
 */
export function publishedCa(file: string, options: PublishOptions, parts: CertificateParts) {
  const { certificate, logger, now } = parts
  const { checkMs, settleMs } = options
  let trusted: string | undefined
  let publishedAt = 0
  /** Returns true when the CA in the file is published. */
  const isPublished = (): boolean => {
    try {
      return trusted === readCa(file)
    } catch {
      return false
    }
  }
  const checks = repeatedly({
    check: async (signal) => {
      const isFirst = trusted === undefined
      if (isPublished() && now() - publishedAt < checkMs) return true
      const ca = readCa(file)
      const isChanged = await publish(options, parts, splitPem(ca), true, signal)
      trusted = ca
      publishedAt = now()
      // API servers need time to trust a new CA.
      if (isFirst && isChanged) await sleep(settleMs, undefined, { signal })
      return true
    },
    failed: (message) => {
      if (certificate.current === undefined) certificate.reject(message)
      else logger.error({ detail: message }, 'the CA cannot be published')
    },
    pauseMs: () => Math.min(READ_MS, checkMs),
  })
  return { ...checks, isPublished }
}

function readCa(file: string): string {
  let text: string
  try {
    text = readSmallFile(file).toString('utf8')
  } catch (error) {
    throw new CertificateError(
      `${file} cannot be read (${systemReason(error)}); the issuer must provide its CA`,
      { cause: error },
    )
  }
  if (splitPem(text).length > 0) return text
  throw new CertificateError(`${file} contains no certificate; the issuer must provide its CA`)
}
