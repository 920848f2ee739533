import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RulesWatcher } from '../../src/rules/watch/rules-watcher.ts'
import type { RulesWatcherOptions } from '../../src/rules/watch/rules-watcher.ts'
import type { RulesVersion } from '../../src/rules/file/rules-file.ts'

/** Events alone have to do: a poll would hide that one was missed. */
const NO_POLL = 3_600_000
const LIMIT = 10_000

/** A rules file with one rule of this name. */
export function ruleNamed(name: string): string {
  return `rules:\n  - name: ${name}\n    faults: [{ delay: { fixed: 1ms } }]\n`
}

/**
 * Returns a version in a word: the names of its rules, `rejected`, or the reason for its absence.
 */
export function gist(version: RulesVersion): string {
  if (version.kind === 'rules') return version.file.rules.map(({ name }) => name).join('+')
  return version.kind === 'absent' ? `absent: ${version.reason}` : 'rejected'
}

/** A temporary directory and a watcher of something in it. */
export class WatchBench {
  readonly versions: RulesVersion[] = []
  readonly troubles: string[] = []
  readonly directory: string
  readonly path: string
  readonly watcher: RulesWatcher
  readonly #waiting = new Set<() => void>()

  private constructor(directory: string, name: string, options: RulesWatcherOptions) {
    this.directory = directory
    this.path = join(directory, name)
    this.watcher = new RulesWatcher(
      this.path,
      { pollMs: NO_POLL, ...options },
      (version) => {
        this.versions.push(version)
        for (const check of this.#waiting) check()
      },
      (message) => void this.troubles.push(message),
    )
  }

  /** `prepare` makes what is there at the start. */
  static async start(
    prepare: (bench: WatchBench) => Promise<unknown> = async () => undefined,
    options: RulesWatcherOptions = {},
    name = 'rules.yaml',
  ): Promise<WatchBench> {
    const directory = await mkdtemp(join(tmpdir(), 'squall-rules-'))
    const bench = new WatchBench(directory, name, options)
    await prepare(bench)
    await bench.watcher.start()
    return bench
  }

  get last(): RulesVersion | undefined {
    return this.versions.at(-1)
  }

  at(...names: readonly string[]): string {
    return join(this.directory, ...names)
  }

  /** Resolves once the last version says this. */
  async told(wanted: string): Promise<void> {
    await this.until(
      (version) => gist(version) === wanted,
      () => `${this.versions.map((each) => gist(each)).join(', ')} and not ${wanted}`,
    )
  }

  /** Resolves with the last version once it is as wanted. */
  until(
    isWanted: (version: RulesVersion) => boolean,
    complaint: () => string = () => 'the version did not come',
  ): Promise<RulesVersion> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(check)
        reject(new Error(complaint()))
      }, LIMIT)
      const check = (): void => {
        const { last } = this
        if (last === undefined || !isWanted(last)) return
        clearTimeout(late)
        this.#waiting.delete(check)
        resolve(last)
      }
      this.#waiting.add(check)
      check()
    })
  }

  /**
   * Waits until every watch is set up: its being so is a reason to look, and would hide a missed
   * event.
   */
  async calm(): Promise<void> {
    await sleep(150)
  }

  /** Writes a file beside the path and renames it to the path. */
  async move(text: string, path = this.path): Promise<void> {
    const temporary = join(dirname(path), `.${Math.random()}.tmp`)
    await writeFile(temporary, text)
    await rename(temporary, path)
  }

  async close(): Promise<void> {
    await this.watcher.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** A mounted ConfigMap, updated as kubelet does it. */
export class Mount {
  readonly #directory: string
  #count = 0
  #current: string | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  /** All keys of the map, by name. */
  async update(files: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    const name = `..2026_03_01_09_00_00.${++this.#count}`
    const before = this.#current
    await mkdir(join(this.#directory, name))
    for (const [key, text] of Object.entries(files)) {
      await writeFile(join(this.#directory, name, key), text)
    }
    await symlink(name, join(this.#directory, '..data_tmp'))
    await rename(join(this.#directory, '..data_tmp'), join(this.#directory, '..data'))
    this.#current = name
    for (const key of Object.keys(files)) {
      await symlink(join('..data', key), join(this.#directory, key)).catch(() => undefined)
    }
    if (before !== undefined) await rm(join(this.#directory, before), { recursive: true })
  }

  /** Takes the link of a key away that the map no longer has. */
  async forget(key: string): Promise<void> {
    await unlink(join(this.#directory, key))
  }
}
