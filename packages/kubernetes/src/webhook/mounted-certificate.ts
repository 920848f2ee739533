import { join } from 'node:path'
import { readSmallFile, WatchedFiles, systemReason } from '#base'
import type { CertificatePair } from './issue-certificate.ts'
import { checkPair, type ServingCertificate } from './serving-certificate.ts'

/** The file names of a Secret of type kubernetes.io/tls. */
const CERT = 'tls.crt'
const KEY = 'tls.key'
/** Files change one after another, so a change settles before it is read. */
const SETTLE_MS = 100
/** Some file systems miss changes, and a directory may be replaced as a whole. */
const POLL_MS = 5_000
/** The interval at which an unpublished CA is checked. */
const PUBLISH_MS = 1_000

/** Configures when the files are read. */
interface MountedOptions {
  readonly settleMs?: number
  readonly pollMs?: number
  /**
   * The time that API servers may take to trust a new certificate before it replaces a valid one.
   */
  readonly trustMs?: number | undefined
  /** Returns false while the CA of the files is not published. */
  readonly isPublished?: (() => boolean) | undefined
}

/** Follows the certificate in a mounted directory, in which the kubelet swaps links. */
export class MountedCertificate {
  readonly #directory: string
  readonly #certificate: ServingCertificate
  readonly #files: WatchedFiles
  readonly #trustMs: number
  readonly #isPublished: () => boolean
  #waiting: { readonly cert: string; readonly since: number } | undefined
  #waited: NodeJS.Timeout | undefined

  constructor(directory: string, certificate: ServingCertificate, options: MountedOptions) {
    this.#directory = directory
    this.#certificate = certificate
    this.#trustMs = options.trustMs ?? 0
    this.#isPublished = options.isPublished ?? (() => true)
    this.look()
    this.#files = new WatchedFiles(
      [CERT, KEY].map((name) => join(directory, name)),
      () => this.look(),
      {
        settleMs: options.settleMs ?? SETTLE_MS,
        pollMs: options.pollMs ?? POLL_MS,
      },
    )
    void this.#files.start()
  }

  /** Reads the files now. */
  look(): void {
    try {
      const cert = readSmallFile(join(this.#directory, CERT)).toString('utf8')
      const key = readSmallFile(join(this.#directory, KEY)).toString('utf8')
      if (!this.#isToWait({ cert, key })) this.#certificate.offer({ cert, key })
    } catch (error) {
      this.#certificate.reject(
        `${CERT} and ${KEY} in ${this.#directory} cannot be read (${systemReason(error)})`,
      )
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#waited)
    await this.#files.close()
  }

  /** Returns true while API servers may not trust the new certificate and the old one is valid. */
  #isToWait(pair: CertificatePair): boolean {
    const { current, trouble } = this.#certificate
    if (this.#trustMs === 0 || current === undefined || trouble !== undefined) return false
    if (current.cert === pair.cert || !isPair(pair)) return false
    if (!this.#isPublished()) {
      this.#lookAgain(PUBLISH_MS)
      return true
    }
    const now = performance.now()
    if (this.#waiting?.cert !== pair.cert) {
      this.#waiting = { cert: pair.cert, since: now }
      this.#lookAgain(this.#trustMs + 50)
    }
    return now - this.#waiting.since < this.#trustMs
  }

  #lookAgain(afterMs: number): void {
    clearTimeout(this.#waited)
    this.#waited = setTimeout(() => this.look(), afterMs).unref()
  }
}

function isPair(pair: CertificatePair): boolean {
  try {
    checkPair(pair)
    return true
  } catch {
    return false
  }
}
