import { readFileSync } from 'node:fs'

/** Returns the version of this package. */
export function readVersion(): string {
  return manifest().version
}

/** Returns the address of a file of this version in the repository. */
export function publishedUrl(path: string): string {
  const { homepage, version } = manifest()
  return `${homepage}/raw/v${version}/${path}`
}

/** Returns true once `package.json` names the owner of the repository. */
export function hasRepository(): boolean {
  return !manifest().homepage.includes('/OWNER/')
}

function manifest(): { readonly version: string; readonly homepage: string } {
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof manifest>
}
