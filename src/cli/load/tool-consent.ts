import { createInterface } from 'node:readline'
import { foreign } from '../../base/text/foreign-text.ts'
import type { Consent } from '../../lab/load/choose-tools.ts'

/** Asks for consent on a terminal, unless it was given; elsewhere nobody can be asked. */
export function consentOf(yes: boolean): { readonly consent?: Consent } {
  if (yes) return { consent: () => true }
  return process.stdin.isTTY && process.stderr.isTTY ? { consent: ask } : {}
}

function ask(tools: readonly string[]): Promise<boolean> {
  const list = tools.map((name) => `  ${foreign(name, 100)}\n`).join('')
  process.stderr.write(`These tools do not say whether they only read:\n${list}`)
  // Not a terminal of its own: Ctrl-C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  return new Promise((resolve) => {
    lines.question('Call them too? [y/N] ', (response) => {
      resolve(/^y(es)?$/i.test(response.trim()))
      lines.close()
    })
    lines.on('close', () => resolve(false))
  })
}
