import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ROOT = '/sys/fs/cgroup'
/** The prefix of our cgroup names; the process that created the cgroup follows. */
export const PREFIX = 'squall-cluster-'
const ATTEMPTS = 50

/** The places where cgroups are made: one, or with the first version one for each controller. */
async function hierarchies(): Promise<readonly string[]> {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return [ROOT]
  const entries = await readdir(ROOT, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(ROOT, name))
}

/** Makes a cgroup in every hierarchy. */
export async function makeCgroup(name: string): Promise<void> {
  for (const parent of await hierarchies()) {
    const directory = join(parent, name)
    await mkdir(directory, { recursive: true })
    // In the first version these are not taken over from the parent.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (!parent.endsWith('/cpuset')) continue
      await writeFile(join(directory, file), await readFile(join(parent, file)))
    }
  }
}

/** Removes a cgroup with all below it, once no process is in them. */
export async function removeCgroup(name: string): Promise<void> {
  for (const parent of await hierarchies()) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await removeTree(join(parent, name))) break
      // The kernel may still be busy with the end of the last process.
      await sleep(100)
    }
  }
}

/** Removes what tests have left that were killed. */
export async function sweepCgroups(): Promise<void> {
  const names = new Set<string>()
  for (const parent of await hierarchies()) {
    for (const name of await readdir(parent)) if (name.startsWith(PREFIX)) names.add(name)
  }
  for (const name of names) {
    if (!existsSync(`/proc/${name.slice(PREFIX.length)}`)) await removeCgroup(name)
  }
}

async function removeTree(directory: string): Promise<boolean> {
  if (!existsSync(directory)) return true
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(join(directory, entry.name))
  }
  return rmdir(directory).then(
    () => true,
    () => false,
  )
}
