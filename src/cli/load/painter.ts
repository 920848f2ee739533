import type { Paint } from './load-table.ts'

const CODES = { strong: '1', good: '32', bad: '31' } as const

/** Colours on a terminal that wants them, and plain text elsewhere. */
export function painter(
  output: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const plain = output.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return (tone, text) => (plain ? text : `\u001b[${CODES[tone]}m${text}\u001b[0m`)
}
