import { setTimeout as sleep } from 'node:timers/promises'
import { WatchedFiles } from '../../base/watch/watched-files.ts'
import { directoryDirectories, fileDirectories } from '../../base/watch/watched-paths.ts'
import { MAX_BETWEEN_CALLS, parseWherever, warmUpParser } from '../file/rules-parser.ts'
import {
  type FoundRules,
  isRulesFileName,
  readRules,
  type RulesVersion,
} from '../file/rules-file.ts'

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
const FAILED = {
  events: 'the rules cannot be watched; they are polled',
  look: 'the rules cannot be watched reliably',
} as const

/**
 * Reports each version of the rules at a path, a file or a directory. An event only triggers a
 * read: the content at that time counts.
 */
export class RulesWatcher {
  readonly #path: string
  readonly #parser: URL | undefined
  readonly #onVersion: (version: RulesVersion) => void
  readonly #onTrouble: (message: string) => void
  readonly #files: WatchedFiles
  readonly #troubles = new Set<string>()
  #started: Promise<void> | undefined
  #reported: () => void = () => undefined
  #digest: string | undefined
  #found: FoundRules | undefined

  constructor(
    path: string,
    { debounceMs = DEBOUNCE, pollMs = POLL, events, parser }: RulesWatcherOptions,
    onVersion: (version: RulesVersion) => void,
    onTrouble: (message: string) => void,
  ) {
    this.#path = path
    this.#parser = parser
    this.#onVersion = onVersion
    this.#onTrouble = onTrouble
    this.#files = new WatchedFiles(
      () => this.#directories(),
      () => this.#look(),
      {
        settleMs: debounceMs,
        pollMs,
        events,
        onError: (error, failed) => this.#trouble(FAILED[failed], error),
      },
    )
  }

  /** Resolves when the first version was reported. Never rejects, whatever is at the path. */
  start(): Promise<void> {
    this.#started ??= new Promise((resolve) => {
      if (this.#files.closed.aborted) return resolve()
      this.#reported = resolve
      void this.#files.start()
    })
    return this.#started
  }

  /** Ends the watch at once. Nothing is reported afterwards. */
  async close(): Promise<void> {
    await this.#files.close()
    this.#reported()
  }

  /** Reads until the rules may be reported, or were reported before. */
  async #look(): Promise<void> {
    const { closed } = this.#files
    for (let attempt = 1; ; attempt++) {
      const found = await readRules(this.#path)
      this.#found = found
      if (closed.aborted || found.digest === this.#digest) return
      const version = await parseWherever(found, closed, this.#parser)
      if (version === undefined || closed.aborted) return
      const isLast = version.kind === 'rules' || attempt === SETTLE_ATTEMPTS
      if (isLast || !this.#mayBeUnfinished(found, attempt)) return this.#report(version, found)
      this.#files.seen()
      // At the start nothing else may keep the process alive.
      await sleep(SETTLE, undefined, { signal: closed }).catch(() => undefined)
    }
  }

  #mayBeUnfinished(found: FoundRules, attempt: number): boolean {
    if (this.#files.isWanted) return true
    return found.kind === 'absent' ? attempt === 1 : Date.now() - found.writtenAt < UNFINISHED
  }

  #report(version: RulesVersion, found: FoundRules): void {
    const isFirst = this.#digest === undefined
    this.#digest = version.digest
    try {
      this.#onVersion(version)
    } catch (error) {
      this.#trouble('the rules could not be loaded', error)
    }
    // Before the first call, which would have to wait.
    if (isFirst && !hasWarmedUp(found)) warmUpParser()
    this.#reported()
  }

  #directories(): ReturnType<typeof fileDirectories> {
    const found = this.#found
    if (found?.kind !== 'found' || !found.isDirectory) return fileDirectories([this.#path])
    const files = found.texts.map(({ file }) => file)
    return directoryDirectories(this.#path, files, isRulesFileName)
  }

  /** Each error is reported once. */
  #trouble(what: string, error: unknown): void {
    if (this.#files.closed.aborted || this.#troubles.has(what)) return
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
