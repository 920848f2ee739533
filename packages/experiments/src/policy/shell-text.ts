/** Stands for what only the shell knows: an unset variable, a substitution, a glob. */
const UNKNOWN = '\uE000'
const ESCAPES = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|0?([0-7]{1,3})|(.))/gi
const ASSIGNED = /(?<![\w$-])([a-z_]\w*)=((?:'[^']*'|"[^"]*"|[^\s;&|)'"])*)/gi
const QUOTES = /\\(.)|["']/g
const VARIABLE =
  /\$(?:\{?([a-z_]\w*)(?::?[-=+]([^}]{0,200}))?\}?|\([^()]*\)|[^\w\s])|\$\d|`[^`]*`/gi
const GLOB = /[*?]|\[[^\]]{0,200}\]|\{[^}]{0,200}\}/g
/** The program, with the flags before its command. */
const SQUALL = String.raw`(?:^|[\s/\\;&|(])(?:(?:mcp-)?squall(?:\.cjs|@\S*)?|main\.js)\s+`
const FLAGS = String.raw`(?:-\S*\s+(?:[^-\s]\S*\s+)?){0,20}`
const PERSONAL = String.raw`(?:mcp\s+)?(?:approve|policy\s+trust)\b`
const APPROVE = new RegExp(
  String.raw`${SQUALL}${FLAGS}(?:${PERSONAL}|(?:(?:mcp\s+)?policy\s+)?\S*\uE000)|\uE000\S{0,200}\s+${PERSONAL}`,
  'i',
)
/** Commands that bring faults into calls past `squall mcp`, or serve it to the agent itself. */
const INJECTS = new RegExp(
  String.raw`${SQUALL}${FLAGS}(fault\s+(?:add|\S*\uE000)|apply|arm|resume|experiment\s+(?:run|again|search|\S*\uE000)|mcp(?!\s+(?:approve|hook|policy)))\b(?![^;&|\n]*\s(?:--help|-h)\b)`,
  'i',
)
const REACHES = new RegExp(String.raw`${SQUALL}[-a-z\uE000]|\b(?:kubectl|helm)\b[^\n]*squall`, 'i')
/** Requests to the admin port, and to other proxies that inject faults. */
const API = /\S*\/api\/(?:faults|arm)\b|\S*\/toxics\b|\btoxiproxy-cli\s+toxic\s+(?:add|update)/i
const READS_HTTP =
  /\b(?:curl|wget)\b(?![^\n]*(?:\s-\w*[dFT]|\s--(?:data|json|form|upload|post)|POST|PUT|PATCH))/
/** Commands whose arguments are only data, joined by pipes. */
const DATA_WORD = String.raw`(?:'[^']*'|"[^"$\`\\]*"|[^\s;&|()<>$\`'"\\])`
const DATA = String.raw`(?:[ef]?grep|rg(?!.*--pre)|ls|cat|head|tail|wc|sort|uniq|echo|printf|diff|git\s+(?:add|blame|commit|diff|log|show|status))(?:\s+(?:\d?>{1,2}&?\s*)?${DATA_WORD}{1,4096}){0,200}`
const DATA_LINE = new RegExp(
  String.raw`(^|[;\n]|&&|\|\|)\s*${DATA}(?:\s*\|\s*${DATA}){0,20}(?=\s*(?:$|[;\n]|&&|\|\|))`,
  'g',
)
const INDIRECT = /\b(?:xargs|eval|alias|source|(?:ba|da|z|k)?sh|exec|parallel)\b/i

/**
 * Reads a command as the shell does, without quotes and escapes, and with known variables. The
 * words leave unknown parts out, which may start `squall approve` or `squall policy trust`.
 */
export function readShell(text: string): { readonly words: string; readonly approves: boolean } {
  const plain = text
    .replaceAll(/\\\r?\n/g, '')
    .replaceAll(/\$'((?:[^'\\]|\\.)*)'/g, (_, quoted: string) =>
      quoted.replaceAll(ESCAPES, (_all, hex = '', code = hex, octal = '', other = '') =>
        other === '' ? String.fromCharCode(Number(octal ? `0o${octal}` : `0x${code}`)) : other,
      ),
    )
    .replaceAll(QUOTES, '$1')
  const values = new Map(
    [...plain.matchAll(ASSIGNED), ...text.matchAll(ASSIGNED)].map(([, name, value = '']) => [
      name,
      value.replaceAll(QUOTES, '$1'),
    ]),
  )
  const valueOf = (_: string, name?: string, other = UNKNOWN): string => values.get(name) ?? other
  const read = plain.replaceAll(VARIABLE, valueOf)
  const isIndirect =
    INDIRECT.test(read) && /squall/i.test(read) && /\b(?:approve|trust)\b/i.test(read)
  const approves = isIndirect || APPROVE.test(read.replaceAll(GLOB, UNKNOWN))
  return { words: read.replaceAll(UNKNOWN, ''), approves }
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
  const commands = INDIRECT.test(text) ? text : text.replaceAll(DATA_LINE, '$1')
  const { words, approves } = readShell(commands)
  const isRequest = API.test(words) && !READS_HTTP.test(words)
  const injects = INJECTS.exec(words)?.[1] ?? (isRequest ? API.exec(words)?.[0] : undefined)
  return { reaches: approves || isRequest || REACHES.test(words), injects, commands }
}
