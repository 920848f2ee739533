import { homedir } from 'node:os'
import { basename, resolve } from 'node:path'
import { isGlob, matchesGlob } from '#base'
import { realPath } from './trust.ts'
import { readShell } from './shell-text.ts'

/** Settings that start the hook and `squall mcp`, and what they write. */
const SETTINGS =
  /(?:^|\/)(?:\.claude\/settings(?:\.local)?\.json|\.claude\.json|\.(?:cursor|vscode)\/(?:mcp|hooks)\.json|\.mcp\.json|experiments\/(?:history\.jsonl|\d{8}-\d{6}-[\da-f]{6}(?:\/.*)?)|audit\.jsonl)$/i
const DIRECTORIES = ['.claude', '.cursor', '.vscode', 'experiments']
/** Programs that only read the files that they are given. */
const READERS =
  /^(?:\[|cat|cd|cmp|cut|diff|du|echo|egrep|fgrep|file|grep|head|jq|less|ls|md5sum|mkdir|more|nl|printf|pwd|rg|sha\d*sum|shasum|sort|stat|tail|test|tr|uniq|wc)$|^git (?:add|blame|commit|diff|grep|log|show|status)$|^sed (?!.*(?:-\w*i|--in-place|\bw\b))|^(?:mcp-)?squall$/
const LAUNCHER = /^(?:env|sudo|command|exec|time|nohup|npx|npm|--|--yes|-y|\w+=.*)$/
const WRITTEN = /\d*(?:&>>?|>>?[|&]?|<>)\s*([^\s;&|<>()]+)/g

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
}

/** Returns the first protected file that a command may write. */
export function writtenBy(command: string, files: Protected): string | undefined {
  let { directory } = files
  for (const segment of readShell(command).words.split(/[;&|\n`(){}]+(?!>)/)) {
    const found = [...segment.matchAll(WRITTEN)].map(([, path = '']) => path)
    const words = segment.replaceAll(WRITTEN, ' ').trim().split(/\s+/)
    while (LAUNCHER.test(words[0] ?? '')) words.shift()
    const [program = '', first = ''] = words
    const name = basename(program)
    const isReader =
      READERS.test(name) ||
      (name === 'git' && READERS.test(`git ${first}`)) ||
      (name === 'sed' && READERS.test(words.join(' ')))
    const isOption = (at: number): boolean => /^--?o/.test(words[at - 1] ?? '')
    const given = words.flatMap((word, at) => {
      if (isReader && !(isOption(at) || /^--?o\S*=/.test(word))) return []
      return word.split(/[=,:"']/)
    })
    const hit = [...found, ...given].find((each) => isProtected(each, { ...files, directory }))
    if (hit !== undefined) return hit
    if (name === 'cd') directory = absolute(first, directory)
  }
  return undefined
}

/** Returns true for a path, or for a glob that matches one, of a protected file. */
export function isProtected(path: string, { policy, state, directory }: Protected): boolean {
  if (path === '' || path.length > 4096) return false
  const full = absolute(path, directory).toLowerCase()
  const wanted = policy.toLowerCase()
  if (isGlob(full) && matchesGlob(full, wanted)) return true
  if (DIRECTORIES.some((each) => full === resolve(directory, each).toLowerCase())) return true
  return (
    basename(full) === basename(wanted) ||
    `${full}/`.startsWith(`${state.toLowerCase()}/`) ||
    SETTINGS.test(full)
  )
}

/** Returns true for a path that leads to a protected file, also by a symbolic link. */
export async function leadsToProtected(path: string, files: Protected): Promise<boolean> {
  const real = await realPath(absolute(path, files.directory))
  return isProtected(path, files) || isProtected(real, files)
}

function absolute(path: string, directory: string): string {
  return resolve(directory, path.replace(/^(?:~|\$\{?HOME\}?)(?=\/|$)/, homedir()))
}
