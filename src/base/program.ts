import { basename, delimiter, dirname } from 'node:path'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

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

/** Returns the path of an installed file below deploy. */
export function deployFile(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url))
}

function manifest(): { readonly version: string; readonly homepage: string } {
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof manifest>
}

/**
 * Returns the words that start this program again: `squall` where the shell finds it, else
 * `npx mcp-squall`.
 */
export function ownCommand(): string {
  const { env, argv } = process
  const path = argv[1] ?? ''
  // npm puts its own directories into the path of the programs that it starts.
  const isByNpm = env['npm_command'] !== undefined
  const isInPath = (env['PATH'] ?? '').split(delimiter).includes(dirname(path))
  const isProgram = /^(?:mcp-)?squall$/.test(basename(path))
  return isProgram && isInPath && !isByNpm ? basename(path) : 'npx mcp-squall'
}

const OWN_COMMAND = /(?<quoted> --[a-z-]+ '(?:[^']|'\\'')*')|(?<![\w/.-]|npx )squall (?=[a-z-])/g

/**
 * Returns a text in which a reader can copy each command of Squall into the same shell. Keeps quoted
 * values of flags, such as the name of a context.
 */
export function asInvoked(text: string): string {
  return text.replaceAll(OWN_COMMAND, (_, quoted?: string) => quoted ?? `${ownCommand()} `)
}
