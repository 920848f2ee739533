import { basename, delimiter, dirname } from 'node:path'

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

/** Returns a text in which a reader can copy each command of Squall into the same shell. */
export function asInvoked(text: string): string {
  return text.replaceAll(/(?<![\w/.-]|npx )squall (?=[a-z-])/g, `${ownCommand()} `)
}
