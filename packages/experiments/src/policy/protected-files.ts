import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isGlob, matchesGlob } from '#base'
import { realPath } from './trust.ts'
import { readShell, REDIRECTIONS, TEXT_LINE } from './shell-text.ts'

/** Settings that start the hook and `squall mcp`, and what they write. */
const SETTINGS =
  /(?:^|\/)(?:\.claude\/(?:settings(?:\.local)?\.json|plugins(?:\/.*)?)|\.claude\.json|\.(?:cursor|vscode)\/(?:mcp|hooks)\.json|\.mcp\.json|experiments\/(?:history\.jsonl|\d{8}-\d{6}-[\da-f]{6}(?:\/.*)?)|audit\.jsonl)$/i
const DIRECTORIES = ['.claude', '.cursor', '.vscode', 'experiments']
const NAMES = /squall|toxi|\/api\/|\.(?:claude|cursor|vscode|mcp\.json)|experiments|audit\.jsonl/i
/** Programs that only read the files that they are given. */
const READERS =
  /^(?:\[|cat|cd|cmp|cut|diff|du|echo|egrep|fgrep|file|grep|head|jq|less|ls|md5sum|mkdir|more|nl|printf|pwd|sha\d*sum|shasum|sort|stat|tail|test|tr|tree|uniq|wc|(?:mcp-)?squall(?:\.cjs|@[\w.-]*)?(?!.* (?:-- |--check|(?:stdio|sweep|try) )))(?: |$)|^git (?:add|blame|branch|commit|diff|fetch|grep(?!.* -(?:O|-op))|log|ls-files|push|rev-parse|show|status|tag)(?: |$)|^sed(?!.*(?: -\w*i| --in|\bw\b))|^rg(?!.* --pre(?: |=))|^yq(?!.* (?:-\w*i|--in))|^[gm]?awk(?!.*inplace)|^find(?!.* -(?:delete|exec|ok|fls|fprint))/i
/** Options with a file that is written. */
const OUTPUT =
  /^-(?:\w*o|-(?:o\w*|call-log|junit|record-baseline|report|results|save|tape)(?:=.*)?)$/i
/** Readers whose option -o is not a file. */
const NO_OUTPUT = /^(?:[ef]?grep|rg|ls|find)$/
const LAUNCHER =
  /^(?:env|sudo|command|exec|time|nohup|if|then|else|do|while|until|!|npx|(?:npm|pnpm|yarn) run \S+|npm|--|--yes|-y|\w+=\S*|node(?=\s\S*squall\.cjs\s))(?:\s+|$)/
/** Programs that change each file of a directory or a pattern. */
const REMOVERS = /(?:^|[ /])(?:rm|mv|rsync|shred|git (?:checkout|restore|reset|stash|clean))(?: |$)/
/** Commands of git that change each file of a project, after options with any values. */
const TREE =
  /^git (?:-.{0,1000}? )?(?=(?:reset(?=.* --(?:h|m|k))|clean(?!.* (?:-\w*n|--dry))|stash(?! (?:apply|branch|clear|create|drop|list|pop|show|store))|(?:checkout(?!.* -- )|switch|checkout-index)(?=.* (?:-[^-\sbBcC]*f|--(?:f|di)))|read-tree(?=.* -\w*u))(?: |$))/
const GIT_PLACE = /--(?:git-dir|work-tree)|GIT_(?:DIR|WORK_TREE)=/
/** Programs that change files whose names they get as input. */
const FED =
  /(?:^|[\s;&|(/])(?:xargs|parallel)(?<!\b(?:which|type|man|whereis|install|-v) [\w -]{0,99})(?:\s+-(?:\w*[adEIjLnPs]\s+[^-\s]\S*|\S+)){0,20}\s+(?:(?:sudo|env|(?:ba|da|z)?sh\s+-\w*c)\s+)?(?:[^\s;&|]{0,99}\/)?(?:rm|mv|cp|dd|ln|tee|install|rsync|shred|truncate|unlink|git (?:checkout|restore)|(?:sed|perl|ruby)(?=[^;&|\n]{0,500} (?:-\w*i|--in)))(?:\s|$)/
/** Ends of a command, other than the braces of HEAD@{1}. */
const ENDS = /(?:[;&|\n`()]|(?<![@^])\{|(?<![@^]\{[^{}\s]{0,99})\})+(?!>)/
const ANY_FILE = /(?:^|\/)\*+$/
const OVERWRITERS = /(?:^|[ /])(?:rm|mv|tee|rsync|shred|truncate|sed)(?: |$)/
const BRACES = /\{[^{}\s]{0,200}(?:,|\.\.)[^{}\s]{0,200}\}|\[[^\]\s]{1,200}\]/g
/** Longer commands are not checked when they name what is protected, nor longer paths. */
const MAX_COMMAND = 16_384
const MAX_PATH = 4096

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

/** Returns true for a command that is too long to be checked, and names what is protected. */
export function isTooLong(command: string, { policy }: Protected): boolean {
  if (command.length <= MAX_COMMAND) return false
  const plain = command.replaceAll(/["'\\]|\\\n/g, '')
  return NAMES.test(plain) || plain.includes(basename(policy))
}

/**
 * Returns the first protected file that a command may write. Adds commands of git for a whole
 * project to `trees`, each as a line below its directory.
 */
export function writtenBy(
  command: string,
  files: Protected,
  trees: Set<string>,
): string | undefined {
  const { words } = readShell(withoutTexts(command))
  if (FED.test(words)) return basename(files.policy)
  for (const text of new Set([words, words.replaceAll(BRACES, '*')])) {
    let { directory } = files
    for (const segment of text.split(ENDS)) {
      const hit = writtenIn(segment, { ...files, directory }, trees)
      if (hit !== undefined) return hit
      const to = /^\s*(?:cd|pushd)\s+(?:-\S*\s+){0,9}([^-\s]\S*)/.exec(segment)?.[1]
      if (to !== undefined) directory = absolute(to, directory)
      if (directory.length > MAX_PATH) return to
    }
  }
  return undefined
}

function writtenIn(segment: string, files: Protected, trees: Set<string>): string | undefined {
  for (const [all, path = ''] of segment.matchAll(REDIRECTIONS)) {
    if (!/^\d*<(?!>)/.test(all) && isProtected(path, files)) return path
  }
  let rest = segment.replaceAll(REDIRECTIONS, ' ').trim().replaceAll(/\s+/g, ' ')
  for (let i = 0; i < 20 && LAUNCHER.test(rest); i++) rest = rest.replace(LAUNCHER, '')
  rest = rest.replace(/^\S*\//, '')
  const [leading = ''] = /^git(?: -[Cc] \S+| -[^Cc\s]\S*)+/.exec(rest) ?? []
  let { directory } = files
  for (const [, to = ''] of leading.matchAll(/ -C (\S+)/g)) directory = absolute(to, directory)
  const guarded = { ...files, directory }
  const line = rest.replace(/^git (?:-C \S+ |-P |--no-\S+ )+/, 'git ')
  const tree = line.replace(TREE, '\n')
  if (tree !== line && GIT_PLACE.test(segment)) return basename(files.policy)
  if (tree !== line) trees.add(`${directory}${tree}`)
  // A directory that files are moved to keeps its own.
  const kept = /^mv (?!.*-(?:\w*t|-t))/.test(line) ? line.replace(/^.* /, '') : ''
  return givenTo(line, guarded)
    .flatMap((word) => word.split(/[=,:"']/))
    .find((each) => {
      if (ANY_FILE.test(each) && !OVERWRITERS.test(line)) return false
      const isRemoved = each !== kept && REMOVERS.test(line)
      return isProtected(each, guarded) || (isRemoved && isParent(each, guarded))
    })
}

/** Returns the words of a command that may be files that it writes. */
function givenTo(line: string, files: Protected): readonly string[] {
  const words = line.split(' ')
  const [name = '', ...operands] = words.filter((word) => !word.startsWith('-'))
  const last = operands.at(-1) ?? ''
  if (name === 'cp' && !/ -(?:\w*[tls]|-(?:link|sym|target))/.test(line)) {
    return isParent(last, files) ? words : [last]
  }
  if (!READERS.test(line)) return name === 'git' ? line.split(/ (?:-[bBcC] \S+)?/) : words
  if (NO_OUTPUT.test(name)) return []
  if (name === 'uniq' && operands.length > 1) return [last]
  return words.flatMap((word, at) => {
    if (OUTPUT.test(words[at - 1] ?? '')) return [word]
    return /^-\w*o/i.test(word) ? [word.replace(/^-\w*?o/i, '')] : OUTPUT.test(word) ? [word] : []
  })
}

/** Leaves out quoted texts of programs that do not run them: messages, titles and patterns. */
function withoutTexts(command: string): string {
  return command.replaceAll(TEXT_LINE, (line) =>
    line.replaceAll(/(>\s*)?('[^']*'|"[^"$`\\]*")/g, (all, redirection?: string) =>
      redirection === undefined && !/awk.*(?:system|[>|])/s.test(line) && /[\s;&|()<>{}]/.test(all)
        ? 'text'
        : all,
    ),
  )
}

/** Returns true for a path, or for a glob that matches one, of a protected file. */
export function isProtected(path: string, { policy, state, directory }: Protected): boolean {
  if (path === '' || path.length > MAX_PATH) return false
  const full = absolute(path, directory).toLowerCase()
  const wanted = policy.toLowerCase()
  const named = isGlob(full) ? dirname(full) : full
  if (isGlob(full) && matchesGlob(full, wanted)) return true
  if (DIRECTORIES.some((each) => named === join(directory, each).toLowerCase())) return true
  return (
    basename(full) === basename(wanted) ||
    `${full}/`.startsWith(`${state.toLowerCase()}/`) ||
    SETTINGS.test(full)
  )
}

/** Returns true for a directory with a protected file in it. */
export function isParent(path: string, { policy, state, directory }: Protected): boolean {
  if (path === '' || path.length > MAX_PATH) return false
  const full = absolute(path, directory)
  const inside = [policy, state, join(homedir(), '.claude/settings.json')]
  return inside.some((each) => each.startsWith(full === '/' ? full : `${full}/`))
}

/** Returns true for a path that leads to a protected file, also by a symbolic link. */
export async function leadsToProtected(path: string, files: Protected): Promise<boolean> {
  const real = await realPath(absolute(path, files.directory))
  return isProtected(path, files) || isProtected(real, files)
}

function absolute(path: string, directory: string): string {
  return resolve(directory, path.replace(/^(?:~|\$\{?HOME\}?)(?=\/|$)/, homedir()))
}
