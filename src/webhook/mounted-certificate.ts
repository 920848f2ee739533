import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { readBounded } from '../listener/bounded-file.ts'
import type { ServingCertificate } from './serving-certificate.ts'

/** Where the files are looked for, as a Secret of type kubernetes.io/tls has them. */
const CERT = 'tls.crt'
const KEY = 'tls.key'
/** Several files change one after the other: wait for the last. */
const SETTLE_MS = 100
/** Not every file system tells of every change, and a folder may be replaced as a whole. */
const POLL_MS = 5_000

/** How often the files are looked at. */
export interface MountedOptions {
  readonly settleMs?: number
  readonly pollMs?: number
}

/** Follows the certificate in a mounted folder. The folder is watched: kubelet swaps a link in it. */
export class MountedCertificate {
  readonly #folder: string
  readonly #certificate: ServingCertificate
  readonly #settleMs: number
  readonly #poll: NodeJS.Timeout
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(folder: string, certificate: ServingCertificate, options: MountedOptions = {}) {
    this.#folder = folder
    this.#certificate = certificate
    this.#settleMs = options.settleMs ?? SETTLE_MS
    // Before the first look: what changes after it is seen.
    this.#watch()
    this.look()
    this.#poll = setInterval(() => {
      if (this.#watcher === undefined) this.#watch()
      this.look()
    }, options.pollMs ?? POLL_MS).unref()
  }

  /** Reads the files now. */
  look(): void {
    try {
      const cert = readBounded(join(this.#folder, CERT)).toString('utf8')
      const key = readBounded(join(this.#folder, KEY)).toString('utf8')
      this.#certificate.offer({ cert, key })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.#certificate.refuse(
        `${CERT} and ${KEY} in ${this.#folder} cannot be read (${code ?? message})`,
      )
    }
  }

  close(): void {
    clearInterval(this.#poll)
    clearTimeout(this.#timer)
    this.#watcher?.close()
  }

  #watch(): void {
    try {
      this.#watcher = watch(this.#folder, () => {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.look(), this.#settleMs).unref()
      })
      this.#watcher.on('error', () => this.#unwatch())
    } catch {
      this.#unwatch()
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }
}
