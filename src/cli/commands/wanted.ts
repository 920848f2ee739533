import type { Command } from '../flags/command.ts'

/** The commands that pods start, and that their probes and hooks run every few seconds. */
const ALONE: Readonly<Record<string, () => Promise<readonly Command[]>>> = {
  run: async () => [(await import('./run.ts')).RUN],
  'wait-ready': async () => [(await import('./wait-ready.ts')).WAIT_READY],
  'pre-stop': async () => [(await import('./pre-stop.ts')).PRE_STOP],
  redirect: async () => [(await import('./redirect.ts')).REDIRECT],
  attached: async () => [(await import('./attached.ts')).ATTACHED],
}

/** The commands that the arguments may name. Those that must start fast load no other. */
export async function commandsFor([first = '']: readonly string[]): Promise<readonly Command[]> {
  if (Object.hasOwn(ALONE, first)) return ALONE[first]!()
  return (await import('./index.ts')).COMMANDS
}
