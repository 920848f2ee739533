import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { injectCommand } from '../../../src/cli/inject.ts'
import type { InjectRequest } from '../../../src/commands/inject.ts'
import { askedBy } from '../../../../../test/support/commands/command-line.ts'

type Text = string | Uint8Array
type Texts = Text | readonly Text[]

/** The result of a command on manifests. */
export interface Outcome {
  readonly code: number
  readonly text: string
  readonly told: string
}

/** Runs `squall inject` on manifests, each in a file of its own. */
export function inject(
  texts: Texts,
  flags: Readonly<Record<string, readonly string[]>> = {},
): Promise<Outcome> {
  return onFiles(texts, (file, out) =>
    injectCommand(askedBy('inject', { ...flags, filename: file }) as InjectRequest, out),
  )
}

/** Runs `squall inject --undo`, likewise. */
export function uninject(
  texts: Texts,
  flags: Readonly<Record<string, readonly string[]>> = {},
): Promise<Outcome> {
  return inject(texts, { ...flags, undo: ['true'] })
}

type Out = Parameters<typeof injectCommand>[1]

async function onFiles(
  texts: Texts,
  run: (files: readonly string[], out: Out) => Promise<number>,
): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-inject-'))
  try {
    const files: string[] = []
    const list = typeof texts === 'string' || texts instanceof Uint8Array ? [texts] : texts
    for (const [i, text] of list.entries()) {
      const file = join(directory, `${i}.yaml`)
      await writeFile(file, text)
      files.push(file)
    }
    let text = ''
    let told = ''
    const code = await run(files, {
      write: async (part) => void (text += part),
      note: async (part) => void (told += part),
    })
    return { code, text, told }
  } finally {
    await rm(directory, { recursive: true })
  }
}
