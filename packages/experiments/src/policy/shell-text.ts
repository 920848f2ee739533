import { joinedLists, unescaped } from './shell-commands.ts'

/** Stands for what only the shell knows: an unset variable, a substitution, a glob. */
const UNKNOWN = '\uE000'
const ASSIGNED = /(?<![\w$-])([a-z_]\w*)=((?:'[^']*'|"[^"]*"|[^\s;&|)'"])*)/gi
const QUOTES = /\\(.)|["']/g
const VARIABLE =
  /\$(?:\{([a-z_]\w*)(?::?[-=+]([^}]{0,200}))?\}?|([a-z_]\w*)|\([^()]*\)|[^\w\s])|\$\d|`[^`]*`/gi
/** A command that a shell runs to write its output there: the innermost ones. */
const SUBSTITUTION = /[$<>]\(([^()`]*)\)|`([^`]*)`/g
/** A loop over files, or over lines of input. */
const LOOP =
  /\b(?:for[ \t]{1,9}([a-z_]\w*)[ \t]{1,9}in[ \t]([^;\n]{0,1024})|read(?:[ \t]{1,9}-\S*){0,9}[ \t]{1,9}([a-z_]\w*))/gi
const MAX_VALUE = 1024
const MAX_SUBSTITUTIONS = 16
/** Limits the shells in each other that are read. */
export const MAX_SHELLS = 4
const MAX_TEXTS = 64
const GLOB = /[*?]+|\[[^\]]{0,200}\]|\{[^}]{0,200}\}/g
/** The program, with the flags before its command. */
const SQUALL = String.raw`(?:^|[\s/\\;&|(])(?:(?:mcp-)?squall(?:\.cjs|@\S{0,64})?|main\.js)\s+`
const FLAGS = String.raw`(?:-\S*\s+(?:[^-\s]\S*\s+)?){0,20}`
const PERSONAL = String.raw`(?:mcp\s+${FLAGS})?(?:approve|policy\s+trust)\b`
const APPROVE = new RegExp(
  String.raw`${SQUALL}${FLAGS}(?:${PERSONAL}|(?:mcp\s+${FLAGS})?(?:policy\s+)?\S*\uE000)|\uE000\S{0,200}\s+${PERSONAL}`,
  'i',
)
/** Redirections, with the files that they read or write. */
export const REDIRECTIONS =
  /(?:(?<!\d)\d{1,3})?(?:&>>?|>>?[|&]?|<>|(?<!<)<(?![<(]))[ \t]{0,99}([^\s;&|<>()]+)/g
/**
 * Commands that bring faults into calls past `squall mcp`, or serve it to the agent itself. Their
 * help does neither.
 */
const INJECTS = new RegExp(
  String.raw`${SQUALL}${FLAGS}(fault\s+${FLAGS}(?:add\b|\S{0,200}\uE000)|apply\b|attach\b(?![^;&|\n#]{0,4096}\s--undo\b)|re(?:sume|direct)\b|inject\b(?=[^;&\n]{0,999}\|\s*kubectl)|experiment\s+${FLAGS}(?:run\b|again\b|search\b|\S{0,200}\uE000)|mcp\b(?!\s+(?:approve|hook|policy)))(?!\s+(?:--help|-h)[ \t]*(?:\s#[^\n]*)?(?:$|[;&|)\n]))`,
  'i',
)
/** A change of the rules or of the pods that have a sidecar. */
const INJECTS_PODS =
  /\bkubectl\b[^;&|\n]{0,999}\s(?:annotate|apply|create|edit|label|patch|replace)\s[^;&|\n]{0,999}?(?:(?:configmap|cm)s?[\s/][^;&|\n]{0,99}squall|squall\.dev\/)/i
const REACHES = new RegExp(String.raw`${SQUALL}[-a-z\uE000]`, 'i')
const CLUSTER = /\b(?:kubectl|helm)\b/i
/** Requests to the admin port, and to other proxies that inject faults. */
export const API =
  /\/api\/(?:[\w.]{0,64}\/){0,8}(?:faults|arm)\b|\/toxics\b|\btoxiproxy-cli\s+toxic\s+(?:add|update)/i
/** One command that only reads by HTTP. */
const READS_HTTP =
  /^\s*(?:(?:if|while|until|!|then|do|else|time|watch|sudo|\w+=\S*)\s+)*(?:curl|wget)\b(?!.*(?:\s-\w*[dFTKe]|\s--(?:da|js|fo|up|po|bo|ex|conf)|-X\s*\uE000|--req\w*[\s=]\uE000|p(?:os|u)t\b|patch\b|P(?:OS|U)T\b|PATCH\b))/s
/** Commands whose arguments are only data, joined by pipes. */
const DATA_WORD = String.raw`(?:'[^']*'|"[^"$\`\\]*"|[^\s;&|()<>$\`'"\\])`
const DATA = String.raw`(?:[ef]?grep|rg|ls|cat|head|tail|wc|sort|uniq|echo|printf|diff|git\s+(?:-C\s+\S{1,99}\s+|-c\s+(?:author|color|commit|user)\.\S{1,99}\s+){0,9}(?:add|blame|commit|diff|grep|log|show|status)|gh\s+(?:issue|pr))(?:[ \t]+(?:\d?>{1,2}&?[ \t]*)?(?!#)${DATA_WORD}{1,4096}){0,200}`
const DATA_LINE = new RegExp(
  String.raw`(^|[;\n]|&&|\|\|)[ \t]{0,99}${DATA}(?:[ \t]*\|\s{0,99}${DATA}){0,20}(?=[ \t]*(?:$|[;\n]|&&|\|\|))`,
  'g',
)
const INDIRECT =
  /\b(?:xargs|eval|alias|source|(?:ba|da|z|k)?sh|exec|parallel)\b|--(?:pre[\s=]|compress-p|open-f)|\sgrep\s+-O/i
const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*"|\\./gs

/**
 * Reads a command as the shell does, without quotes and escapes, and with known variables. The
 * words leave unknown parts out, which may start `squall mcp approve` or `squall mcp policy trust`.
 */
export function readShell(text: string): {
  readonly words: string
  /** The words without redirections, with a mark for each unknown part. */
  readonly marked: string
  readonly approves: boolean
} {
  const plain = unquoted(text)
  const values = valuesIn(text, plain)
  const valueOf = (_: string, braced = '', other = UNKNOWN, name = braced): string =>
    values.get(name) ?? other
  const read = plain.replaceAll(VARIABLE, valueOf)
  const isIndirect =
    INDIRECT.test(read) && /squall/i.test(read) && /\b(?:approve|trust)\b/i.test(read)
  const unknown = read.replaceAll(GLOB, UNKNOWN)
  const marked = unknown.replaceAll(REDIRECTIONS, ' ')
  const approves = isIndirect || APPROVE.test(unknown) || APPROVE.test(marked)
  return { words: read.replaceAll(UNKNOWN, ''), marked, approves }
}

function unquoted(text: string): string {
  let plain = joinedLists(text)
    .replaceAll(/\\\r?\n/g, '')
    .replaceAll(/\$'((?:[^'\\]|\\.)*)'/g, (_, quoted: string) => unescaped(quoted))
  // Each shell in a shell adds escapes.
  for (let depth = 0; depth < MAX_SHELLS; depth++) plain = plain.replaceAll(QUOTES, '$1')
  return plain
}

function valuesIn(text: string, plain: string): Map<string, string> {
  const values = new Map(Object.entries({ HOME: '~', PWD: '.' }))
  for (const each of [...plain.matchAll(ASSIGNED), ...text.matchAll(ASSIGNED)]) {
    values.set(each[1]!, each[2]!.replaceAll(QUOTES, '$1').slice(0, MAX_VALUE))
  }
  return values
}

/** Returns a function that sets the variables of a text, also those of its loops; `*` may be any. */
export function variablesOf(text: string): (part: string) => string {
  const values = valuesIn(text, unquoted(text))
  for (const [, looped, list = '*', read] of text.matchAll(LOOP)) {
    values.set(
      looped ?? read!,
      /[$`]/.test(list) ? '*' : list.replaceAll(QUOTES, '$1').slice(0, MAX_VALUE),
    )
  }
  return (part) =>
    part.replaceAll(
      VARIABLE,
      (_, braced: string = '', other: string = '', name: string = braced) =>
        values.get(name) ?? other,
    )
}

/** Returns a text, and the commands that are substituted in it, the innermost first. */
export function withSubstituted(text: string): readonly string[] {
  const found = new Set<string>()
  let rest = text
  for (let i = 0, before = ''; i < MAX_SUBSTITUTIONS && rest !== before; i++) {
    before = rest
    rest = rest.replaceAll(SUBSTITUTION, (_, body: string | undefined, quoted = '') => {
      found.add(body ?? quoted)
      return UNKNOWN
    })
  }
  if (found.size > 0) found.add(rest.replaceAll(UNKNOWN, ''))
  return [text, ...(found.size > MAX_TEXTS ? [[...found].join('\n')] : found)]
}

/**
 * Returns whether a command reaches Squall, and the part that would inject faults. Texts that
 * are only searched or printed do not count.
 */
export function readSquall(text: string): {
  readonly reaches: boolean
  readonly injects: string | undefined
  /** The text without them. */
  readonly commands: string
} {
  const isData = !INDIRECT.test(text.replaceAll(QUOTES, '$1'))
  const commands = isData ? text.replaceAll(DATA_LINE, '$1') : text
  // What is quoted does not end a command, but a shell that is given it may.
  const joined = commands.replaceAll(QUOTED, (each) => each.replaceAll(/[;&|\n]/g, ' '))
  const { words, marked, approves } = readShell(commands)
  const request = [marked, readShell(joined).marked]
    .flatMap((each) => each.split(/[;&|\n]/))
    .map((each) => (READS_HTTP.test(each) ? null : API.exec(each.replaceAll(UNKNOWN, ''))))
    .find((each) => each !== null)?.[0]
  const plain = words.replaceAll(REDIRECTIONS, ' ')
  const pods = INJECTS_PODS.exec(words)?.[0]
  const injects = INJECTS.exec(marked)?.[1] ?? INJECTS.exec(plain)?.[1] ?? request ?? pods
  const reaches =
    REACHES.test(words) || REACHES.test(plain) || (CLUSTER.test(words) && /squall/i.test(words))
  return { reaches: approves || injects !== undefined || reaches, injects, commands }
}
