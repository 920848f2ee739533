import { readlink } from 'node:fs/promises'
import { dirname, join, parse, resolve, sep } from 'node:path'

/** Selects the relevant names in one directory. */
export interface WatchedDirectory {
  /** Returns true when a change of this name may be a change of the files. */
  concerns(name: string): boolean
}

/** The limit of Linux. */
const MAX_LINKS = 40

/** Returns the directories that resolve the paths of files, through all symbolic links. */
export async function fileDirectories(
  paths: readonly string[],
): Promise<ReadonlyMap<string, WatchedDirectory>> {
  const trail = new LinkTrail()
  for (const path of paths) await trail.follow(path)
  return trail.directories
}

/**
 * Returns the directories that resolve the path of a directory, through all symbolic links, and the
 * files in it: a ConfigMap's `..data` as well as the place that a link leads to. In the directory
 * itself, `concerns` selects the names. Where the way ends early, what is missing is waited for in
 * the last directory that exists.
 */
export async function directoryDirectories(
  path: string,
  files: readonly string[],
  concerns: (name: string) => boolean,
): Promise<ReadonlyMap<string, WatchedDirectory>> {
  const trail = new LinkTrail()
  const real = await trail.follow(path)
  if (real === undefined) return trail.directories
  trail.in(real).others = concerns
  for (const file of files) await trail.follow(file)
  return trail.directories
}

class Names implements WatchedDirectory {
  readonly names = new Set<string>()
  others: (name: string) => boolean = () => false

  concerns(name: string): boolean {
    return this.names.has(name) || this.others(name)
  }
}

type Step = { readonly link: string } | 'no link' | 'missing'

class LinkTrail {
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
      if (step !== 'no link' || rest.length === 0) this.in(at).names.add(name)
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

  /** Returns the relevant names in a directory. */
  in(directory: string): Names {
    const names = this.directories.get(directory) ?? new Names()
    this.directories.set(directory, names)
    return names
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
