import { readlink } from 'node:fs/promises'
import { dirname, join, parse, resolve, sep } from 'node:path'
import { isRulesFileName } from '../file/rules-file.ts'

/** Selects the relevant names in one directory. */
export interface WatchedDirectory {
  /** Returns true when a change of this name may be a change of the rules. */
  concerns(name: string): boolean
}

/** The limit of Linux. */
const MAX_LINKS = 40

/**
 * The directories in which the way to the rules is looked up, through all symbolic links: a ConfigMap's
 * `..data` as well as the place that a link leads to. Where the way ends early, what is missing is
 * waited for in the last directory that is there.
 */
export async function watchedDirectories(
  path: string,
  files: readonly string[],
  isDirectory: boolean,
): Promise<ReadonlyMap<string, WatchedDirectory>> {
  const way = new Way()
  const real = await way.follow(path)
  if (isDirectory && real !== undefined) {
    way.note(real)
    for (const file of files) await way.follow(file)
  }
  return way.directories
}

/** Returns the directories that resolve the paths of files, through all symbolic links. */
export async function fileDirectories(
  paths: readonly string[],
): Promise<ReadonlyMap<string, WatchedDirectory>> {
  const way = new Way()
  for (const path of paths) await way.follow(path)
  return way.directories
}

class Names implements WatchedDirectory {
  readonly names = new Set<string>()
  all = false

  concerns(name: string): boolean {
    return this.names.has(name) || (this.all && isRulesFileName(name))
  }
}

type Step = { readonly link: string } | 'no link' | 'missing'

class Way {
  readonly directories = new Map<string, Names>()
  readonly #steps = new Map<string, Step>()

  /** Follows a path; returns its target. */
  async follow(path: string): Promise<string | undefined> {
    const absolute = resolve(path)
    let at = parse(absolute).root
    const rest = absolute.slice(at.length).split(sep)
    for (let links = 0; ;) {
      const name = rest.shift()
      if (name === undefined) return at
      if (name === '' || name === '.') continue
      if (name === '..') {
        at = dirname(at)
        continue
      }
      const here = join(at, name)
      const step = await this.#step(here)
      if (step !== 'no link' || rest.length === 0) this.note(at, name)
      if (step === 'missing') return undefined
      if (step === 'no link') {
        at = here
        continue
      }
      if (++links > MAX_LINKS) return undefined
      const { root } = parse(step.link)
      if (root !== '') at = root
      rest.unshift(...step.link.slice(root.length).split(sep))
    }
  }

  /** Any rules file of a directory matters, or the one name. */
  note(directory: string, name?: string): void {
    const names = this.directories.get(directory) ?? new Names()
    this.directories.set(directory, names)
    if (name === undefined) names.all = true
    else names.names.add(name)
  }

  async #step(path: string): Promise<Step> {
    const known = this.#steps.get(path)
    if (known !== undefined) return known
    const step = await readlink(path).then(
      (link): Step => ({ link }),
      ({ code }: NodeJS.ErrnoException): Step =>
        code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'no link',
    )
    this.#steps.set(path, step)
    return step
  }
}
