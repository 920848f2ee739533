import { setTimeout as sleep } from 'node:timers/promises'
import { Debounce } from '../../base/debounce.ts'
import { DirectoryWatches } from './directory-watches.ts'
import { MAX_BETWEEN_CALLS, parseWherever } from '../file/parse-off-thread.ts'
import { readRules, type FoundRules } from '../file/rules-file.ts'
import { warmUpParser } from '../file/rules-parser.ts'
import type { RulesVersion } from '../file/rules-version.ts'
import { watchedDirectories } from './watched-paths.ts'

export interface RulesWatcherOptions {
  /** Milliseconds without a further event before the rules are read; 10 when left out. */
  readonly debounceMs?: number | undefined
  /** Milliseconds between reads without an event; 5,000 when left out. */
  readonly pollMs?: number | undefined
  /** False relies on polling alone, for file systems without events. */
  readonly events?: boolean | undefined
  /** The worker program that parses large texts, if not the one beside this file. */
  readonly parser?: URL | undefined
}

const DEBOUNCE = 10
const POLL = 5_000
/** Programs that write in place or rename twice leave an unfinished file for a moment. */
const UNFINISHED = 50
const SETTLE = 15
const SETTLE_ATTEMPTS = 4
/** A file system that hangs must not keep the process alive. */
const CLOSE_LIMIT = 1_000

/**
 * Reports each version of the rules at a path, a file or a directory. An event only triggers a read: the
 * content at that time counts.
 */
export class RulesWatcher {
  readonly #path: string
  readonly #options: RulesWatcherOptions
  readonly #onVersion: (version: RulesVersion) => void
  readonly #onTrouble: (message: string) => void
  readonly #watches: DirectoryWatches
  readonly #debounce: Debounce
  readonly #closing = new AbortController()
  readonly #troubles = new Set<string>()
  #poll: NodeJS.Timeout | undefined
  #started: Promise<void> | undefined
  #reported: () => void = () => undefined
  #digest: string | undefined
  #looking: Promise<void> | undefined
  #isWanted = false

  constructor(
    path: string,
    options: RulesWatcherOptions,
    onVersion: (version: RulesVersion) => void,
    onTrouble: (message: string) => void,
  ) {
    this.#path = path
    this.#options = options
    this.#onVersion = onVersion
    this.#onTrouble = onTrouble
    this.#debounce = new Debounce(options.debounceMs ?? DEBOUNCE, () => this.#look())
    this.#watches = new DirectoryWatches(this.#debounce.hint, (error) => {
      this.#trouble('the rules are looked at now and then only: they cannot be watched', error)
    })
  }

  /** Resolves when the first version was reported. Never rejects, whatever is at the path. */
  start(): Promise<void> {
    this.#started ??= new Promise((resolve) => {
      if (this.#isClosed) return resolve()
      this.#reported = resolve
      this.#poll = setInterval(() => {
        this.#watches.retry()
        this.#look()
      }, this.#options.pollMs ?? POLL).unref()
      this.#look()
    })
    return this.#started
  }

  /** Ends the watch at once. Nothing is reported afterwards. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#poll)
    this.#debounce.cancel()
    await Promise.all([
      this.#watches.close(),
      Promise.race([this.#looking, sleep(CLOSE_LIMIT, undefined, { ref: false })]),
    ])
    this.#reported()
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Looks now, or again after a look in progress. */
  #look(): void {
    this.#isWanted = true
    this.#looking ??= this.#lookWhileWanted()
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false
      try {
        const found = await this.#update()
        if (!this.#isClosed) await this.#follow(found)
      } catch (error) {
        this.#trouble('the rules cannot be watched as they should', error)
      }
    }
    this.#looking = undefined
  }

  /** Reads until the rules may be reported, or were reported before. */
  async #update(): Promise<FoundRules> {
    for (let attempt = 1; ; attempt++) {
      const found = await readRules(this.#path)
      if (this.#isClosed || found.digest === this.#digest) return found
      const { signal } = this.#closing
      const version = await parseWherever(found, signal, this.#options.parser)
      if (version === undefined || this.#isClosed) return found
      const isLast = version.kind === 'rules' || attempt === SETTLE_ATTEMPTS
      if (isLast || !this.#mayBeUnfinished(found, attempt)) {
        this.#tell(version, found)
        return found
      }
      this.#isWanted = false
      // At the start nothing else may keep the process alive.
      await sleep(SETTLE, undefined, { signal }).catch(() => undefined)
    }
  }

  #mayBeUnfinished(found: FoundRules, attempt: number): boolean {
    if (this.#isWanted) return true
    return found.kind === 'absent' ? attempt === 1 : Date.now() - found.writtenAt < UNFINISHED
  }

  #tell(version: RulesVersion, found: FoundRules): void {
    const isFirst = this.#digest === undefined
    this.#digest = version.digest
    try {
      this.#onVersion(version)
    } catch (error) {
      this.#trouble('the rules that were found could not be taken', error)
    }
    // Before the first call, which would have to wait.
    if (isFirst && !hasWarmedUp(found)) warmUpParser()
    this.#reported()
  }

  async #follow(found: FoundRules): Promise<void> {
    if (this.#options.events === false) return
    const isDirectory = found.kind === 'found' && found.isDirectory
    const files = found.kind === 'found' ? found.texts.map(({ file }) => file) : []
    const directories = await watchedDirectories(this.#path, files, isDirectory)
    if (!this.#isClosed) await this.#watches.follow(directories)
  }

  /** Each error is reported once. */
  #trouble(what: string, error: unknown): void {
    if (this.#isClosed || this.#troubles.has(what)) return
    this.#troubles.add(what)
    const { code, message } = error as NodeJS.ErrnoException
    this.#onTrouble(`${what} (${code ?? message})`)
  }
}

/** Returns true when the parser of this thread has parsed rules before. */
function hasWarmedUp(found: FoundRules): boolean {
  if (found.kind === 'absent') return false
  const bytes = found.texts.reduce((sum, text) => sum + text.bytes.length, 0)
  return bytes > 0 && bytes <= MAX_BETWEEN_CALLS
}
