import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isGlob, matchesGlob } from '#base'
import { UncheckedError } from './shell-commands.ts'

/** Settings that start the hook and `squall mcp`, the program itself, and what they write. */
const SETTINGS =
  /(?:^|\/)(?:\.claude\/(?:settings(?:\.local)?\.json|plugins(?:\/.*)?)|\.claude\.json|\.(?:cursor|vscode)\/(?:mcp|hooks)\.json|\.mcp\.json|experiments\/(?:history\.jsonl|\d{8}-\d{6}-[\da-f]{6}(?:\/.*)?)|audit\.jsonl|\.?bin\/(?:mcp-)?squall(?:\.cjs)?|node_modules\/mcp-squall(?:\/.*)?)$/i
/** Other projects have a directory of this name without a history. */
const HISTORY = 'experiments'
const DIRECTORIES = ['.claude', '.cursor', '.vscode', HISTORY]
const FILES = [
  'settings.json',
  'settings.local.json',
  'mcp.json',
  '.mcp.json',
  '.claude.json',
  'hooks.json',
]
const NAMES =
  /squall|toxi|\/api\/|\.(?:claude|cursor|vscode|mcp\.json)|experiments|audit\.jsonl|disableAllHooks/i
/** Longer commands are not checked when they name what is protected, nor longer paths. */
const MAX_COMMAND = 65_536
export const MAX_PATH = 4096
/** Limits the paths of a command, each below each of its directories. */
const MAX_PATHS = 2048

/** The files that only a person changes: the policy, settings of agents, history and trust. */
export interface Protected {
  /** The policy without symbolic links. */
  readonly policy: string
  /** The directory of trusted policies, locks and proposals. */
  readonly state: string
  /** True when the policy is not the one that a person trusted. */
  readonly isChanged: boolean
  /** The directory of the agent. */
  readonly directory: string
  /** The paths of a command that were looked at. */
  readonly seen?: Map<string, boolean>
}

/** Returns true for a command that is too long to be checked, and names what is protected. */
export function isTooLong(command: string, { policy }: Protected): boolean {
  if (command.length <= MAX_COMMAND) return false
  const plain = command.replaceAll(/["'\\]|\\\n/g, '')
  return NAMES.test(plain) || plain.includes(basename(policy))
}

/** Returns true for a path, or for a glob that matches one, of a protected file. */
export function isProtected(path: string, { policy, state, directory }: Protected): boolean {
  if (path === '' || path.length > MAX_PATH) return false
  const real = absolute(path, directory)
  const full = real.toLowerCase()
  const wanted = policy.toLowerCase()
  const named = isGlob(full) ? dirname(full) : full
  if (isGlob(full) && matchesGlob(full, wanted)) return true
  const own = DIRECTORIES.find((each) => named.endsWith(`/${each}`))
  if (own !== undefined && named === join(directory, own).toLowerCase()) {
    if (own !== HISTORY || !existsSync(real)) return true
    if (existsSync(join(real, 'history.jsonl'))) return true
  }
  return (
    basename(full) === basename(wanted) ||
    `${full}/`.startsWith(`${state.toLowerCase()}/`) ||
    SETTINGS.test(full)
  )
}

/** Returns true for a directory with a protected file in it. */
export function isParent(path: string, { policy, state, directory }: Protected): boolean {
  if (path === '' || path.length > MAX_PATH) return false
  const full = realOf(absolute(path, directory)) ?? absolute(path, directory)
  const inside = [policy, state, join(homedir(), '.claude/settings.json')]
  return inside.some((each) => each.startsWith(full === '/' ? full : `${full}/`))
}

/** Returns true for a path that leads to a protected file, also by a symbolic link. */
export function leadsToProtected(path: string, files: Protected): boolean {
  const key = `${files.directory}\n${path}`
  const known = files.seen?.get(key)
  if (known !== undefined) return known
  if ((files.seen?.size ?? 0) > MAX_PATHS) {
    throw new UncheckedError('too many files to check; use fewer files in one call')
  }
  const leads = isProtected(path, files) || isLinkToProtected(path, files)
  files.seen?.set(key, leads)
  return leads
}

function isLinkToProtected(path: string, files: Protected): boolean {
  const full = absolute(path, files.directory)
  if (full.length > MAX_PATH || isGlob(full)) return false
  // A new file has the real path of its directory.
  const real = realOf(full) ?? join(realOf(dirname(full)) ?? '/', basename(full))
  return real !== full && isProtected(real, files)
}

function realOf(path: string): string | undefined {
  try {
    return existsSync(path) ? realpathSync(path) : undefined
  } catch {
    return undefined
  }
}

/** Returns true for a pattern of names that a protected file has. */
export function isNameOfProtected(pattern: string, { policy }: Protected): boolean {
  const names = [basename(policy), 'history.jsonl', 'audit.jsonl', ...FILES]
  return names.some((name) => matchesGlob(pattern.toLowerCase(), name.toLowerCase()))
}

/** Returns true for a directory whose files would replace protected ones, or that is not there. */
export function hasProtected(directory: string, { policy }: Protected): boolean {
  const names = [basename(policy), '.mcp.json', 'audit.jsonl', ...DIRECTORIES]
  return !existsSync(directory) || names.some((name) => existsSync(join(directory, name)))
}

export function absolute(path: string, directory: string): string {
  return resolve(directory, path.replace(/^(?:~|\$\{?HOME\}?)(?=\/|$)/, homedir()))
}
