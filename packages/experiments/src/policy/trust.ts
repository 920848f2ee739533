import { realpath, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fieldsOf, makeDirectory, readJsonFile, sha256Of } from '#base'

/** Returns the digest by which a policy is trusted. */
export function policyDigest(text: string): string {
  return `sha256:${sha256Of(text)}`
}

/** Returns the digest of the policy at a path that a person trusts; undefined without one. */
export async function trustedDigest(directory: string, path: string): Promise<string | undefined> {
  const real = await realPath(path)
  const kept = fieldsOf(await readJsonFile(trustFile(directory, real)))
  const { digest } = kept
  return kept['path'] === real && typeof digest === 'string' ? digest : undefined
}

/** Writes that a person trusts a policy. Each path has one trusted digest. */
export async function trustPolicy(
  directory: string,
  path: string,
  { digest, by }: { readonly digest: string; readonly by: string },
): Promise<void> {
  const real = await realPath(path)
  await makeDirectory(join(directory, TRUSTED), 0o700)
  const kept = { path: real, digest, by, at: new Date().toISOString() }
  await writeFile(trustFile(directory, real), `${JSON.stringify(kept)}\n`, { mode: 0o600 })
}

/** Writes that a policy exists: without it, a hook that finds no policy refuses each call. */
export async function notePolicy(directory: string, path: string): Promise<void> {
  try {
    const real = await realpath(path)
    await makeDirectory(join(directory, TRUSTED), 0o700)
    const note = `${JSON.stringify({ path: real })}\n`
    await writeFile(trustFile(directory, real), note, { flag: 'wx', mode: 0o600 })
  } catch {
    // Another note has this path already, or there is no policy.
  }
}

const TRUSTED = 'trusted-policies'

function trustFile(directory: string, real: string): string {
  return join(directory, TRUSTED, `${sha256Of(real)}.json`)
}

/** Returns the path without symbolic links, also for a missing file. */
export function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}
