import type { SecureContextOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../telemetry/log.ts'
import type { WatchedFiles } from '../../base/watch/watched-files.ts'
import { readSmallFile } from '../../base/files.ts'

/** Paths of TLS files, by Node's option names. */
export interface TlsPaths {
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly ca?: string | undefined
}

/** Reports that TLS files cannot be read, or do not match. */
export class TlsFileError extends Error {
  readonly code = 'SQUALL_TLS_FILE'
}

/** The wait for further files that change together. */
const SETTLE = 100
/** The interval of polling, because not every file system reports every change. */
const POLL = 30_000

/**
 * Reads TLS material from files, again after each change. An invalid change keeps the last valid
 * material.
 */
export class TlsFiles {
  readonly #paths: TlsPaths
  readonly #logger: Logger
  readonly #onChange: (material: SecureContextOptions) => void
  #material: SecureContextOptions
  #files: WatchedFiles | undefined
  #closed = false
  #lastError: string | undefined

  constructor(
    paths: TlsPaths,
    logger: Logger,
    onChange: (material: SecureContextOptions) => void = () => undefined,
  ) {
    this.#paths = paths
    this.#logger = logger
    this.#onChange = onChange
    this.#material = readMaterial(paths)
  }

  get material(): SecureContextOptions {
    return this.#material
  }

  async watch(): Promise<void> {
    const files = Object.values(this.#paths).filter((path): path is string => path !== undefined)
    if (files.length === 0) return
    const { WatchedFiles } = await import('../../base/watch/watched-files.ts')
    if (this.#closed) return
    this.#files = new WatchedFiles(files, () => this.reload(), {
      settleMs: SETTLE,
      pollMs: POLL,
      onError: (error) => this.#logger.warn({ err: error }, 'TLS files cannot be watched'),
    })
    await this.#files.start()
  }

  /** Reads the files again. */
  reload(): void {
    let material: SecureContextOptions
    try {
      material = readMaterial(this.#paths)
    } catch (error) {
      const detail = (error as Error).message
      if (detail === this.#lastError) return
      this.#lastError = detail
      this.#logger.warn({ detail }, 'new TLS files cannot be used; the previous ones stay active')
      return
    }
    this.#lastError = undefined
    if (sameMaterial(material, this.#material)) return
    this.#material = material
    this.#onChange(material)
    this.#logger.info({ files: this.#paths }, 'TLS files were reloaded')
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#files?.close()
  }
}

/** Reads the files and checks that they form a TLS context. */
function readMaterial(paths: TlsPaths): SecureContextOptions {
  const material: SecureContextOptions = {}
  for (const part of ['cert', 'key', 'ca'] as const) {
    const path = paths[part]
    if (path === undefined) continue
    try {
      material[part] = readSmallFile(path)
    } catch (error) {
      throw new TlsFileError(`cannot read ${path}: ${(error as Error).message}`)
    }
  }
  if (Object.keys(material).length === 0) return material
  try {
    process.getBuiltinModule('node:tls').createSecureContext(material)
  } catch (error) {
    const names = Object.values(paths).filter(Boolean).join(', ')
    throw new TlsFileError(`cannot create a TLS context from ${names}: ${(error as Error).message}`)
  }
  return material
}

function sameMaterial(one: SecureContextOptions, other: SecureContextOptions): boolean {
  return (['cert', 'key', 'ca'] as const).every((part) => isDeepStrictEqual(one[part], other[part]))
}
