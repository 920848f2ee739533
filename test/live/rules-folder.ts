import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that holds a rules file as the kubelet mounts a ConfigMap: `rules.yaml -> ..data/rules.yaml`. */
export interface MountedRules {
  readonly folder: string
  /** What `--rules` is given. */
  readonly file: string
  /** Swaps in a version as the kubelet does; undefined takes the key away. */
  swap(text: string | Uint8Array | undefined): Promise<void>
  remove(): Promise<void>
}

/** Mounts a first version. */
export async function mountRules(text: string | undefined): Promise<MountedRules> {
  const folder = await mkdtemp(join(tmpdir(), 'squall-rules-'))
  let version = 0
  let before: string | undefined

  async function swap(next: string | Uint8Array | undefined): Promise<void> {
    const data = `..v${++version}`
    await mkdir(join(folder, data))
    if (next !== undefined) await writeFile(join(folder, data, 'rules.yaml'), next)
    await symlink(data, join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    if (before !== undefined) await rm(join(folder, before), { recursive: true })
    before = data
  }

  await swap(text)
  await symlink('..data/rules.yaml', join(folder, 'rules.yaml'))
  return {
    folder,
    file: join(folder, 'rules.yaml'),
    swap,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** A file with one rule that fails every call of a tool with its own name. */
export function failing(rule: string, tool = 'probe'): string {
  return `rules:\n  - name: ${rule}\n    match: { tool: ${tool} }\n    faults: [abort: { toolError: ${rule} }]\n`
}
