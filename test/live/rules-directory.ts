import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A directory that holds a rules file as the kubelet mounts a ConfigMap:
 * `rules.yaml -> ..data/rules.yaml`.
 */
export interface MountedRules {
  readonly directory: string
  /** The argument of `--rules`. */
  readonly file: string
  /** Swaps in a version as the kubelet does; undefined takes the key away. */
  swap(text: string | Uint8Array | undefined): Promise<void>
  remove(): Promise<void>
}

/** Mounts a first version. */
export async function mountRules(text: string | undefined): Promise<MountedRules> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-rules-'))
  let version = 0
  let before: string | undefined

  async function swap(next: string | Uint8Array | undefined): Promise<void> {
    const data = `..v${++version}`
    await mkdir(join(directory, data))
    if (next !== undefined) await writeFile(join(directory, data, 'rules.yaml'), next)
    await symlink(data, join(directory, '..data_tmp'))
    await rename(join(directory, '..data_tmp'), join(directory, '..data'))
    if (before !== undefined) await rm(join(directory, before), { recursive: true })
    before = data
  }

  await swap(text)
  await symlink('..data/rules.yaml', join(directory, 'rules.yaml'))
  return {
    directory,
    file: join(directory, 'rules.yaml'),
    swap,
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** A file with one rule that fails every call of a tool with its own name. */
export function failing(rule: string, tool = 'probe'): string {
  return `rules:\n  - name: ${rule}\n    match: { tool: ${tool} }\n    faults: [abort: { toolError: ${rule} }]\n`
}
