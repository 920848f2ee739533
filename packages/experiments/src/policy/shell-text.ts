/** Stands for what only the shell knows: an unset variable, a substitution, a glob. */
const UNKNOWN = '\uE000'
const ESCAPES = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|0?([0-7]{1,3})|(.))/gi
const ASSIGNED = /(?<![\w$-])([a-z_]\w*)=([^\s;&|)]*)/gi
const VARIABLE =
  /\$(?:\{?([a-z_]\w*)(?::?[-=+]([^}]{0,200}))?\}?|\([^()]*\)|[^\w\s])|\$\d|`[^`]*`/gi
const GLOB = /[*?]|\[[^\]]{0,200}\]|\{[^}]{0,200}\}/g
/** The command behind Squall's flags and their values. */
const APPROVE =
  /(?:^|[\s/\\;&|(])(?:(?:mcp-)?squall(?:\.cjs|@\S*)?|main\.js)\s+(?:-\S*\s+(?:[^-\s]\S*\s+)?){0,20}(?:approve\b|\S*\uE000)|\uE000\S{0,200}\s+approve\b/i
const INDIRECT = /\b(?:xargs|eval|alias|source|(?:ba|da|z|k)?sh|exec|parallel)\b/i

/**
 * Reads a command as the shell does, without quotes and escapes, and with known variables. The
 * words leave unknown parts out, which may start `squall approve`.
 */
export function readShell(text: string): { readonly words: string; readonly approves: boolean } {
  const plain = text
    .replaceAll(/\\\r?\n/g, '')
    .replaceAll(/\$'((?:[^'\\]|\\.)*)'/g, (_, quoted: string) =>
      quoted.replaceAll(ESCAPES, (_all, hex = '', code = hex, octal = '', other = '') =>
        other === '' ? String.fromCharCode(Number(octal ? `0o${octal}` : `0x${code}`)) : other,
      ),
    )
    .replaceAll(/\\(.)|["']/g, '$1')
  const values = new Map(Array.from(plain.matchAll(ASSIGNED), ([, name, value]) => [name, value]))
  const valueOf = (_: string, name?: string, other = UNKNOWN): string => values.get(name) ?? other
  const read = plain.replaceAll(VARIABLE, valueOf)
  const isIndirect = INDIRECT.test(read) && /squall/i.test(read) && /\bapprove\b/i.test(read)
  const approves = isIndirect || APPROVE.test(read.replaceAll(GLOB, UNKNOWN))
  return { words: read.replaceAll(UNKNOWN, ''), approves }
}
