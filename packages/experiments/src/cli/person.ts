import { createInterface } from 'node:readline/promises'
import { UsageError } from '#cli'

/** Throws a `UsageError` unless a person is at the terminal; `what` says what only a person does. */
export function needPerson(what: string, command: string): void {
  if (process.stdin.isTTY && process.stdout.isTTY) return
  throw new UsageError(
    'INVALID_VALUE',
    `only a person at a terminal can ${what}`,
    `run ${command} in a terminal`,
  )
}

/** Asks the person at the terminal; returns true for yes. */
export async function isAgreed(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(?:es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}
